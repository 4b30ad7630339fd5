// ExecSpec as JSON: the running half of a submission, and the blob it is kept as.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/json.h"
#include "codec/json_container.h"
#include "codec/json_lists.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "model/exec_fields.h"
#include "model/job_fields.h"

namespace dove::codec {
namespace {

constexpr std::size_t kStringsBytesMax = std::size_t{1} << 20;
constexpr std::size_t kVolumesMax = 64;
constexpr std::size_t kPortsMax = 16;
constexpr std::int64_t kNodePortMin = 1'024;
constexpr std::array<std::string_view, 3> kNetworks{"default", "host",
                                                    "gang"};                  // by ContainerNetwork
constexpr std::array<std::string_view, 3> kNamings{"any", "create", "exec"};  // by ContainerNaming

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

void read_port(JsonFields& fields, PublishedPort& v) {
  fields.integer("port", v.port, 1, kPortMax);
  fields.integer("node_port", v.node_port, kNodePortMin, kPortMax);
  if (v.port == 0) fields.fail("port", "missing_field", "give the port inside");
  if (v.node_port == 0) v.node_port = v.port;
  if (v.node_port < kNodePortMin) {
    fields.fail("node_port", "out_of_range", "give a port of the node from 1024 on");
  }
}

// What no field says alone.
void check_container(JsonFields& fields, ContainerSpec& v) {
  if (v.image.empty() && v.name.empty()) {
    fields.fail("image", "missing_field", "give the image's name");
  }
  if (v.name.empty() && v.naming != ContainerNaming::kAny) {
    fields.fail("naming", "missing_field", "give the container's name");
  }
  if (!v.save.empty() && !v.save.starts_with('/')) {
    fields.fail("save", "bad_value", "write an absolute path of the node");
  }
  if (!v.ports.empty() && v.network == ContainerNetwork::kDefault) {
    v.network = ContainerNetwork::kGang;
  }
  if (!v.ports.empty() && v.network != ContainerNetwork::kGang) {
    fields.fail("ports", "bad_value",
                R"(ports are published from a network of the gang's own: "network": "gang")");
  }
}

void read(JsonFields& fields, ContainerSpec& v) {
  JsonTake take(fields);
  container_fields(take, v);
  check_container(fields, v);
}

// A path as a browser asks for it: nothing of it may end the request's line.
void check_url_path(JsonFields& fields, std::string_view name, const std::string& path) {
  const bool is_plain = path.find(' ') == std::string::npos;
  if (!path.empty() && (!path.starts_with('/') || path.starts_with("//") || !is_plain)) {
    fields.fail(name, "bad_value", R"(write a path as in "/lab", without spaces)");
  }
}

void check_app(JsonFields& fields, const AppSpec& v) {
  check_url_path(fields, "health", v.health);
  check_url_path(fields, "path", v.path);
  if (!v.activity.empty() && v.activity != "jupyter" && v.activity != "code_server" &&
      !v.activity.starts_with('/')) {
    fields.fail("activity", "bad_value",
                R"(write jupyter, code_server, or a path as in "/active")");
  }
  if (v.name.empty()) fields.fail("name", "missing_field", "give the app a name");
  if ((v.port == 0) == v.socket.empty()) {
    fields.fail("port", v.port == 0 ? "app_without_port" : "bad_value",
                "give the port that the app serves, or its socket in DOVE_SOCKETS");
  }
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

}  // namespace

std::span<const std::string_view> words_of(ContainerNetwork /*all*/) { return kNetworks; }
std::span<const std::string_view> words_of(ContainerNaming /*all*/) { return kNamings; }

Json json_of(const std::vector<Volume>& volumes) {
  Json all = Json::array();
  for (const Volume& each : volumes) {
    all.push_back({{"source", each.source}, {"target", each.target}, {"writable", each.writable}});
  }
  return all;
}

Json json_of(const std::vector<PublishedPort>& ports) {
  Json all = Json::array();
  for (const PublishedPort& each : ports) {
    all.push_back({{"port", each.port}, {"node_port", each.node_port}});
  }
  return all;
}

Json json_of(const ContainerSpec& container) {
  Json object = Json::object();
  JsonPut put(object);
  container_fields(put, container);
  return object;
}

Json json_of(const AppSpec& app) {
  Json object = Json::object();
  JsonPut put(object);
  app_fields(put, app);
  return object;
}

void take(JsonFields& fields, const char* name, std::vector<Volume>& volumes) {
  fields.objects(name, kVolumesMax, [&](JsonFields& volume, std::size_t) {
    read_volume(volume, volumes.emplace_back());
  });
}

void take(JsonFields& fields, const char* name, std::vector<PublishedPort>& ports) {
  fields.objects(name, kPortsMax,
                 [&](JsonFields& port, std::size_t) { read_port(port, ports.emplace_back()); });
}

void take(JsonFields& fields, const char* name, ContainerSpec& container) {
  fields.object(name, [&](JsonFields& inner) { read(inner, container); });
}

void take(JsonFields& fields, const char* name, AppSpec& app) {
  fields.object(name, [&](JsonFields& inner) {
    JsonTake take(inner);
    app_fields(take, app);
    check_app(inner, app);
  });
}

void take_signal(JsonFields& fields, const char* name, std::int32_t& signal, std::int64_t min) {
  const Json* value = fields.find(name);
  if (value == nullptr || !value->is_string()) {
    return fields.integer(name, signal, min, kSignalMax);
  }
  std::string_view text = value->get_ref<const std::string&>();
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const SignalName& each : kSignals) {
    if (each.name != text) continue;
    signal = each.number;
    return;
  }
  fields.fail(name, "bad_value", "write a signal as a number or as in \"USR1\"");
}

// Fields that submissions may leave out as well.
void read_exec(JsonFields& fields, ExecSpec& v) {
  if (const Json* command = fields.find("command"); command != nullptr && command->is_string()) {
    fields.fail(
        "command", "wrong_type",
        R"(write a list of words as in ["python3", "train.py"]; a shell line is a "script")");
  }
  JsonTake take(fields);
  exec_fields(take, v);
  if (v.umask.empty() || v.umask.find_first_not_of("01234567") != std::string::npos) {
    fields.fail("umask", "bad_value", "write octal digits as in \"0022\"");
  }
  check_sizes(fields, v);
}

namespace {

Json exec_json(const ExecSpec& exec) {
  Json object = Json::object();
  JsonPut put(object);
  exec_fields(put, exec);
  return object;
}

}  // namespace

std::string encode_exec(const ExecSpec& exec) { return dump_json(exec_json(exec)); }

Json container_json(const ContainerSpec& container) { return json_of(container); }

Result<ContainerSpec> read_container(const Json& value) {
  Failure failure;
  ContainerSpec container;
  JsonFields fields(value, "", failure);
  if (!value.empty()) read(fields, container);
  fields.done();
  if (failure.any()) return failure.error();
  return container;
}

Result<ExecSpec> decode_exec(const Json& blob) {
  Failure failure;
  ExecSpec exec;
  JsonFields fields(blob, "", failure);
  read_exec(fields, exec);
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
