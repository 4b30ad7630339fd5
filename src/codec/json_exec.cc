// ExecSpec as JSON: the running half of a submission, and the blob it is kept as.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/json.h"
#include "codec/json_container.h"
#include "codec/json_parts.h"
#include "codec/words.h"

namespace dove::codec {
namespace {

constexpr std::size_t kScriptBytesMax = std::size_t{4} << 20;
constexpr std::size_t kArgumentsMax = 4096;
constexpr std::size_t kEnvironmentMax = 1024;
constexpr std::size_t kArgumentBytesMax = 131'071;  // of the Linux kernel, for one string
constexpr std::size_t kStringsBytesMax = std::size_t{1} << 20;
constexpr std::size_t kLabelsMax = 64;
constexpr std::size_t kVolumesMax = 64;
constexpr std::size_t kPortsMax = 16;
constexpr std::array<std::string_view, 3> kNetworks{"default", "host",
                                                    "gang"};                  // by ContainerNetwork
constexpr std::array<std::string_view, 3> kNamings{"any", "create", "exec"};  // by ContainerNaming
constexpr std::int64_t kSignalMax = 64;

constexpr TextRule kArgumentRule{kArgumentBytesMax, TextRule::Kind::kAny};

struct SignalName {
  std::string_view name;
  std::int32_t number;
};
constexpr std::array<SignalName, 14> kSignals{{{"HUP", 1},
                                               {"INT", 2},
                                               {"QUIT", 3},
                                               {"ABRT", 6},
                                               {"KILL", 9},
                                               {"USR1", 10},
                                               {"SEGV", 11},
                                               {"USR2", 12},
                                               {"PIPE", 13},
                                               {"ALRM", 14},
                                               {"TERM", 15},
                                               {"CONT", 18},
                                               {"STOP", 19},
                                               {"TSTP", 20}}};

// 10, "USR1" or "SIGUSR1".
void read_signal(JsonFields& fields, std::string_view name, std::int32_t& out, std::int64_t min) {
  const Json* value = fields.find(name);
  if (value == nullptr || !value->is_string()) return fields.integer(name, out, min, kSignalMax);
  std::string_view text = value->get_ref<const std::string&>();
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const SignalName& signal : kSignals) {
    if (signal.name != text) continue;
    out = signal.number;
    return;
  }
  fields.fail(name, "bad_value", "write a signal as a number or as in \"USR1\"");
}

void read_umask(JsonFields& fields, std::string& out) {
  fields.text("umask", out, {4, TextRule::Kind::kLine});
  if (out.empty() || out.find_first_not_of("01234567") != std::string::npos) {
    fields.fail("umask", "bad_value", "write octal digits as in \"0022\"");
  }
}

void read_volume(JsonFields& fields, Volume& v) {
  fields.text("source", v.source, kPathRule);
  fields.text("target", v.target, kPathRule);
  fields.boolean("writable", v.writable);
  if (!v.source.starts_with('/')) {
    fields.fail("source", "bad_value", "write an absolute path of the node");
  }
  if (!v.target.empty() && !v.target.starts_with('/')) {
    fields.fail("target", "bad_value", "write an absolute path inside the container");
  }
}

void read_container(JsonFields& fields, ContainerSpec& v) {
  fields.text("image", v.image, {1024, TextRule::Kind::kName});
  fields.text("name", v.name, {64, TextRule::Kind::kName});
  if (const int naming = fields.one_of("naming", kNamings); naming >= 0) {
    v.naming = static_cast<ContainerNaming>(naming);
  }
  if (v.image.empty() && v.name.empty()) {
    fields.fail("image", "missing_field", "give the image's name");
  }
  if (v.name.empty() && v.naming != ContainerNaming::kAny) {
    fields.fail("naming", "missing_field", "give the container's name");
  }
  fields.text("save", v.save, kPathRule);
  if (!v.save.empty() && !v.save.starts_with('/')) {
    fields.fail("save", "bad_value", "write an absolute path of the node");
  }
  fields.boolean("entrypoint", v.entrypoint);
  fields.boolean("root", v.root);
  fields.objects("volumes", kVolumesMax, [&](JsonFields& volume, std::size_t) {
    read_volume(volume, v.volumes.emplace_back());
  });
  fields.boolean("read_only", v.read_only);
  fields.bytes("shm", v.shm_bytes);
  fields.text("workdir", v.workdir, kPathRule);
  if (const int network = fields.one_of("network", kNetworks); network >= 0) {
    v.network = static_cast<ContainerNetwork>(network);
  }
  fields.objects("ports", kPortsMax, [&](JsonFields& port, std::size_t) {
    PublishedPort& published = v.ports.emplace_back();
    port.integer("port", published.port, 1, 65'535);
    port.integer("node_port", published.node_port, 1'024, 65'535);
    if (published.port == 0) port.fail("port", "missing_field", "give the port inside");
    if (published.node_port == 0) published.node_port = published.port;
    if (published.node_port < 1'024) {
      port.fail("node_port", "out_of_range", "give a port of the node from 1024 on");
    }
  });
  if (!v.ports.empty() && v.network == ContainerNetwork::kDefault) {
    v.network = ContainerNetwork::kGang;
  }
  if (!v.ports.empty() && v.network != ContainerNetwork::kGang) {
    fields.fail("ports", "bad_value",
                R"(ports are published from a network of the gang's own: "network": "gang")");
  }
}

// A path as a browser asks for it: nothing of it may end the request's line.
void read_url_path(JsonFields& fields, std::string_view name, std::string& out) {
  fields.text(name, out, {1024, TextRule::Kind::kLine});
  const bool is_plain = std::none_of(out.begin(), out.end(), [](char c) { return c == ' '; });
  if (!out.empty() && (!out.starts_with('/') || out.starts_with("//") || !is_plain)) {
    fields.fail(name, "bad_value", R"(write a path as in "/lab", without spaces)");
  }
}

void read_app(JsonFields& fields, AppSpec& v) {
  fields.text("name", v.name, {64, TextRule::Kind::kName});
  fields.integer("port", v.port, 1, 65'535);
  fields.text("socket", v.socket, {108, TextRule::Kind::kLine});
  read_url_path(fields, "health", v.health);
  read_url_path(fields, "path", v.path);
  fields.text("activity", v.activity, {1024, TextRule::Kind::kLine});
  if (!v.activity.empty() && v.activity != "jupyter" && v.activity != "code_server" &&
      !v.activity.starts_with('/')) {
    fields.fail("activity", "bad_value",
                R"(write jupyter, code_server, or a path as in "/active")");
  }
  if (v.name.empty()) fields.fail("name", "missing_field", "give the app a name");
  if ((v.port == 0) == v.socket.empty()) {
    fields.fail("port", "missing_field",
                "give the port that the app serves, or its socket in DOVE_SOCKETS");
  }
}

void put_text(Json& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object[std::string(name)] = text;
}

void check_sizes(JsonFields& fields, const ExecSpec& v) {
  std::size_t bytes = 0;
  for (const std::string& word : v.command) bytes += word.size() + 1;
  for (const std::string& word : v.script_arguments) bytes += word.size() + 1;
  for (const auto& [name, value] : v.environment) bytes += name.size() + value.size() + 2;
  if (bytes <= kStringsBytesMax) return;
  fields.fail("environment", "too_long",
              fmt::format("command, arguments and environment together have {} bytes, over the "
                          "limit of {}",
                          bytes, kStringsBytesMax));
}

// What each field of ExecSpec is; fields that submissions may leave out as well.
void read_exec_fields(JsonFields& fields, ExecSpec& v) {
  fields.text("script", v.script, {kScriptBytesMax, TextRule::Kind::kAny});
  fields.texts("script_arguments", v.script_arguments, kArgumentRule, kArgumentsMax);
  if (const Json* command = fields.find("command"); command != nullptr && command->is_string()) {
    fields.fail(
        "command", "wrong_type",
        R"(write a list of words as in ["python3", "train.py"]; a shell line is a "script")");
  }
  fields.texts("command", v.command, kArgumentRule, kArgumentsMax);
  fields.text_map("environment", v.environment, {256, TextRule::Kind::kEnvironmentName},
                  kArgumentRule, kEnvironmentMax);
  fields.text("workdir", v.workdir, kPathRule);
  fields.text("stdout_path", v.output.stdout_path, kPathRule);
  fields.text("stderr_path", v.output.stderr_path, kPathRule);
  fields.text("stdin_path", v.output.stdin_path, kPathRule);
  fields.boolean("output_append", v.output.append);
  fields.bytes("output_rotate", v.output.rotate_bytes);
  fields.object("container",
                [&](JsonFields& container) { read_container(container, v.container); });
  fields.object("app", [&](JsonFields& app) { read_app(app, v.app); });
  read_umask(fields, v.umask);
  read_signal(fields, "stop_signal", v.stop_signal, 1);
  read_signal(fields, "warn_signal", v.warn_signal, 0);
  fields.integer("warn_before_s", v.warn_before_s, 0, 1'000'000);
  fields.text("source_name", v.source_name, kPathRule);
  fields.text_map("labels", v.labels, {64, TextRule::Kind::kName}, {1024, TextRule::Kind::kAny},
                  kLabelsMax);
  check_sizes(fields, v);
}

Json app_json(const AppSpec& v) {
  Json object{{"name", v.name}};
  if (v.port != 0) object["port"] = v.port;
  put_text(object, "socket", v.socket);
  put_text(object, "health", v.health);
  put_text(object, "path", v.path);
  put_text(object, "activity", v.activity);
  return object;
}

Json exec_json(const ExecSpec& v) {
  Json object = Json::object();
  put_text(object, "script", v.script);
  if (!v.script_arguments.empty()) object["script_arguments"] = v.script_arguments;
  if (!v.command.empty()) object["command"] = v.command;
  object["environment"] = v.environment;
  put_text(object, "workdir", v.workdir);
  put_text(object, "stdout_path", v.output.stdout_path);
  put_text(object, "stderr_path", v.output.stderr_path);
  put_text(object, "stdin_path", v.output.stdin_path);
  if (v.output.append) object["output_append"] = true;
  if (v.output.rotate_bytes != 0) object["output_rotate_bytes"] = v.output.rotate_bytes;
  // Without an image it is refused when it is read, with a message.
  if (Json container = container_json(v.container); !container.empty()) {
    object["container"] = std::move(container);
  }
  if (!v.app.name.empty()) object["app"] = app_json(v.app);
  object["umask"] = v.umask;
  object["stop_signal"] = v.stop_signal;
  if (v.warn_signal != 0) object["warn_signal"] = v.warn_signal;
  if (v.warn_before_s != 0) object["warn_before_s"] = v.warn_before_s;
  put_text(object, "source_name", v.source_name);
  if (!v.labels.empty()) object["labels"] = v.labels;
  return object;
}

}  // namespace

void read_exec(JsonFields& fields, ExecSpec& v) { read_exec_fields(fields, v); }

std::string encode_exec(const ExecSpec& exec) { return dump_json(exec_json(exec)); }

Json container_json(const ContainerSpec& v) {
  Json object = Json::object();
  put_text(object, "image", v.image);
  for (const Volume& volume : v.volumes) {
    object["volumes"].push_back(
        Json{{"source", volume.source}, {"target", volume.target}, {"writable", volume.writable}});
  }
  if (v.read_only) object["read_only"] = true;
  if (v.shm_bytes != 0) object["shm_bytes"] = v.shm_bytes;
  put_text(object, "workdir", v.workdir);
  put_text(object, "name", v.name);
  if (v.naming != ContainerNaming::kAny) {
    object["naming"] = kNamings[static_cast<std::size_t>(v.naming)];
  }
  put_text(object, "save", v.save);
  if (v.entrypoint) object["entrypoint"] = true;
  if (v.root) object["root"] = true;
  if (v.network != ContainerNetwork::kDefault) {
    object["network"] = kNetworks[static_cast<std::size_t>(v.network)];
  }
  for (const PublishedPort& port : v.ports) {
    object["ports"].push_back(Json{{"port", port.port}, {"node_port", port.node_port}});
  }
  return object;
}

Result<ContainerSpec> read_container(const Json& value) {
  Failure failure;
  ContainerSpec container;
  JsonFields fields(value, "", failure);
  if (!value.empty()) read_container(fields, container);
  fields.done();
  if (failure.any()) return failure.error();
  return container;
}

Result<ExecSpec> decode_exec(const Json& blob) {
  Failure failure;
  ExecSpec exec;
  JsonFields fields(blob, "", failure);
  read_exec_fields(fields, exec);
  fields.done();
  if (failure.any()) return failure.error();
  return exec;
}

Result<Submission> read_submission(const Json& body) {
  Failure failure;
  Submission submission;
  JsonFields fields(body, "", failure);
  read_spec(fields, submission.spec);
  read_exec(fields, submission.exec);
  const bool script = !submission.exec.script.empty();
  const bool command = !submission.exec.command.empty();
  const int launch = fields.one_of("launch", launch_modes());
  submission.spec.launch = launch >= 0 ? static_cast<LaunchMode>(launch)
                           : script    ? LaunchMode::kBatch
                                       : LaunchMode::kEachTask;
  fields.done();
  if (failure.any()) return failure.error();
  if (script == command) {
    fields.fail("command", script ? "given_twice" : "missing_field",
                script ? "give a command or a script, not both"
                       : "give what to run: \"command\", a list of words, or \"script\"");
  } else if ((submission.spec.launch == LaunchMode::kBatch) != script) {
    fields.fail("launch", "bad_value",
                "\"batch\" runs a script, \"each_task\" a command: give the one that fits");
  } else if (submission.exec.container.image.empty() && !submission.exec.container.name.empty()) {
    fields.fail("container.image", "missing_field",
                "give the image's name; only steps may find a container by its name alone");
  } else if (command && submission.exec.command[0].empty()) {
    fields.fail("command[0]", "bad_value", "the program's name is empty");
  }
  if (failure.any()) return failure.error();
  return submission;
}

Json write_submission(const Submission& submission) {
  Json object = spec_json(submission.spec);
  object.erase("user");
  object.update(exec_json(submission.exec));
  return object;
}

}  // namespace dove::codec
