#include "server/step_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_container.h"
#include "server/handlers.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int32_t kTasksMax = 100'000;
constexpr std::size_t kListMax = 4'096;
constexpr std::size_t kNameMax = 1024;

Result<std::int32_t> count(const Json& body, const char* name) {
  const Json given = body.value(name, Json(0));
  if (given.is_number_integer() && given >= 0 && given <= kTasksMax) {
    return given.get<std::int32_t>();
  }
  return invalid("bad_value", std::string(name) + " is a whole number from 0 to 100000", name);
}

Result<std::int64_t> amount(const Json& body, const char* name) {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  const Json given = body.value(name, Json(0));
  if (given.is_number_integer() && given >= 0 && given <= kMax) return given.get<std::int64_t>();
  return invalid("bad_value", std::string(name) + " is a whole number, not below 0", name);
}

Result<backends::DeviceBind> read_bind(const Json& value) {
  using Kind = backends::DeviceBind::Kind;
  const std::map<std::string, Kind> kinds = {{"all", Kind::kAll},
                                             {"single", Kind::kSingle},
                                             {"per_task", Kind::kPerTask},
                                             {"map", Kind::kMap},
                                             {"mask", Kind::kMask}};
  backends::DeviceBind bind;
  const auto kind = kinds.find(value.at("kind").get<std::string>());
  if (kind == kinds.end()) {
    return invalid("bad_value", "devices.bind.kind is all, single, per_task, map or mask",
                   "devices");
  }
  bind.kind = kind->second;
  TRY_ASSIGN(bind.count, count(value, "count"));
  bind.list = value.value("list", std::vector<std::uint64_t>{});
  const bool needs_list = bind.kind == Kind::kMap || bind.kind == Kind::kMask;
  if (bind.list.size() > kListMax || needs_list == bind.list.empty()) {
    return invalid("bad_value", "devices.bind.list is for map and mask, with up to 4096 numbers",
                   "devices");
  }
  return bind;
}

Result<backends::StepDevices> read_devices(const Json& value) {
  backends::StepDevices devices;
  for (const auto& [name, into] :
       {std::pair{"per_node", &devices.per_node}, std::pair{"per_task", &devices.per_task},
        std::pair{"total", &devices.total}}) {
    if (!value.contains(name)) continue;
    TRY_ASSIGN(*into, count(value, name));
  }
  if (devices.per_node.has_value() + devices.per_task.has_value() + devices.total.has_value() > 1) {
    return invalid("bad_value", "devices has one of per_node, per_task and total", "devices");
  }
  TRY_ASSIGN(devices.tasks_per_device, count(value, "tasks_per_device"));
  devices.model = value.value("model", "");
  if (value.contains("bind")) {
    TRY_ASSIGN(devices.bind, read_bind(value.at("bind")));
  }
  return devices;
}

Result<backends::StepRequest> read_request(const Json& body) {
  backends::StepRequest request;
  TRY_ASSIGN(request.tasks, count(body, "tasks"));
  TRY_ASSIGN(request.nodes, count(body, "nodes"));
  TRY_ASSIGN(request.tasks_per_node, count(body, "tasks_per_node"));
  TRY_ASSIGN(request.cores_per_task, count(body, "cores_per_task"));
  TRY_ASSIGN(request.relative, count(body, "relative"));
  TRY_ASSIGN(request.memory_bytes, amount(body, "memory_bytes"));
  TRY_ASSIGN(request.memory_per_core_bytes, amount(body, "memory_per_core_bytes"));
  request.nodelist = body.value("nodelist", std::vector<std::string>{});
  request.exclude = body.value("exclude", std::vector<std::string>{});
  request.overcommit = body.value("overcommit", false);
  request.exact = body.value("exact", false);
  request.overlap = body.value("overlap", false);
  request.waits = body.value("waits", true);
  request.all_cores = body.value("all_cores", false);
  if (body.contains("devices")) {
    TRY_ASSIGN(request.devices, read_devices(body.at("devices")));
  }
  const Json countables = body.value("countables", Json::object());
  for (const auto& [name, value] : countables.items()) {
    request.countables.push_back({name, value.get<std::int64_t>()});
  }
  return request;
}

Result<backends::StepHolding> read_held(const Json& value) {
  backends::StepHolding holding;
  for (const std::int32_t core : value.value("cores", std::vector<std::int32_t>{})) {
    if (core < 0 || core >= CoreSet::kEnd) {
      return invalid("bad_value", fmt::format("there is no core {}", core), "held");
    }
    holding.cores.insert(core);
  }
  TRY_ASSIGN(holding.devices, codec::read_grants(value.at("devices")));
  TRY_ASSIGN(holding.memory_bytes, amount(value, "memory_bytes"));
  return holding;
}

}  // namespace

Result<StepBody> read_step(const Json& body) {
  StepBody step;
  try {
    TRY_ASSIGN(step.request, read_request(body));
    TRY_ASSIGN(step.program.time_limit_s, amount(body, "time_limit_s"));
    step.program.command = body.at("command").get<std::vector<std::string>>();
    step.program.name = body.value("name", "");
    step.program.environment = body.value("environment", std::map<std::string, std::string>{});
    step.program.workdir = body.value("workdir", "");
    step.program.stdout_path = body.value("stdout_path", "");
    step.program.stderr_path = body.value("stderr_path", "");
    step.program.stdin_text = body.value("stdin", "none");
    step.program.stdin_rank = body.value("stdin_rank", -1);
    step.program.label = body.value("label", false);
    step.program.kill_on_bad_exit = body.value("kill_on_bad_exit", false);
  } catch (const Json::exception& e) {
    return invalid("bad_value", std::string("the step cannot be read: ") + e.what(), "");
  }
  if (body.contains("container")) {
    TRY_ASSIGN(step.program.container, codec::read_container(body["container"]));
  }
  if (step.program.command.empty() || step.program.command.front().empty()) {
    return invalid("bad_value", "command is a list of words, the program first", "command");
  }
  if (step.program.name.size() > kNameMax) {
    return invalid("bad_value", "name has at most 1024 bytes", "name");
  }
  if (step.program.stdin_rank < -1 || step.program.stdin_rank > kTasksMax) {
    return invalid("bad_value", "stdin_rank is the number of a task", "stdin_rank");
  }
  return step;
}

Result<backends::StepAttach> read_step_attach(const Json& body, std::int32_t step) {
  backends::StepAttach attach;
  attach.step = step;
  try {
    attach.attempt = body.at("attempt").get<AttemptNumber>();
    for (const Json& node : body.at("nodes")) {
      const auto name = node.at("node").get<std::string>();
      attach.ranks[name] = node.at("ranks").get<std::vector<Rank>>();
      if (!node.contains("held")) continue;
      TRY_ASSIGN(attach.held[name], read_held(node.at("held")));
    }
    TRY_ASSIGN(attach.time_left_s, amount(body, "time_left_s"));
    attach.input = body.value("input", false);
    attach.stdin_rank = body.value("stdin_rank", -1);
    attach.kill_on_bad_exit = body.value("kill_on_bad_exit", false);
    attach.stdout_path = body.value("stdout_path", "");
    attach.stderr_path = body.value("stderr_path", "");
    for (const Json& each : body.value("seen", Json::array())) {
      attach.seen.push_back({each.at("rank").get<Rank>(), each.value("stream", "") == "stderr",
                             each.at("bytes").get<std::int64_t>()});
    }
  } catch (const Json::exception& e) {
    return invalid("bad_value", std::string("what is attached to cannot be read: ") + e.what(), "");
  }
  return attach;
}

}  // namespace dove::server
