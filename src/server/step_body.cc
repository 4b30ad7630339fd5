#include "server/step_body.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_container.h"
#include "codec/json_fields.h"
#include "server/handlers.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using codec::JsonFields;

constexpr std::int32_t kTasksMax = 100'000;
constexpr std::size_t kListMax = 4'096;
constexpr std::size_t kNodesMax = 100'000;
constexpr std::int64_t kAmountMax = std::int64_t{1} << 50;
constexpr std::size_t kVariablesMax = 10'000;
constexpr std::size_t kWordsMax = 100'000;
// As long as one argument or variable of a program may be (Linux, MAX_ARG_STRLEN).
constexpr TextRule kArgument{128 << 10, TextRule::Kind::kAny};
constexpr TextRule kPath{4096, TextRule::Kind::kLine};
constexpr std::array<std::string_view, 5> kBinds{"all", "single", "per_task", "map", "mask"};
constexpr std::array<std::string_view, 2> kStreams{"stdout", "stderr"};

void read_count(JsonFields& fields, const char* name, std::int32_t& out) {
  fields.integer(name, out, 0, kTasksMax);
}

void read_amount(JsonFields& fields, const char* name, std::int64_t& out) {
  fields.integer(name, out, 0, kAmountMax);
}

// Masks have 64 bits.
void read_numbers(JsonFields& fields, const char* name, std::vector<std::uint64_t>& out) {
  const Json* list = fields.find(name);
  if (list == nullptr) return;
  const bool fits = list->is_array() && list->size() <= kListMax;
  for (std::size_t i = 0; fits && i < list->size(); ++i) {
    const Json& item = (*list)[i];
    if (!item.is_number_integer() || item < 0) break;
    out.push_back(item.get<std::uint64_t>());
  }
  if (!fits || out.size() != list->size()) {
    fields.fail(name, "bad_value",
                fmt::format("expected a list of at most {} whole numbers, 0 or above", kListMax));
  }
}

void read_bind(JsonFields& fields, backends::DeviceBind& bind) {
  using Kind = backends::DeviceBind::Kind;
  const int kind = fields.one_of("kind", kBinds);
  if (kind < 0) fields.fail("kind", "missing_field", "say how GPUs are bound");
  constexpr std::array kKinds{Kind::kAll, Kind::kSingle, Kind::kPerTask, Kind::kMap, Kind::kMask};
  if (kind >= 0) bind.kind = kKinds.at(static_cast<std::size_t>(kind));
  read_count(fields, "count", bind.count);
  read_numbers(fields, "list", bind.list);
  const bool needs_list = bind.kind == Kind::kMap || bind.kind == Kind::kMask;
  if (needs_list == bind.list.empty()) {
    fields.fail("list", "bad_value", "a list is for map and mask, which have one");
  }
}

void read_devices(JsonFields& fields, backends::StepDevices& devices) {
  int given = 0;
  for (const auto& [name, into] :
       {std::pair{"per_node", &devices.per_node}, std::pair{"per_task", &devices.per_task},
        std::pair{"total", &devices.total}}) {
    if (!fields.has(name)) continue;
    read_count(fields, name, into->emplace(0));
    if (++given > 1) fields.fail(name, "given_twice", "give one of per_node, per_task and total");
  }
  read_count(fields, "tasks_per_device", devices.tasks_per_device);
  fields.text("model", devices.model);
  fields.object("bind", [&](JsonFields& bind) { read_bind(bind, devices.bind); });
}

void read_request(JsonFields& fields, backends::StepRequest& request) {
  read_count(fields, "tasks", request.tasks);
  read_count(fields, "nodes", request.nodes);
  read_count(fields, "tasks_per_node", request.tasks_per_node);
  read_count(fields, "cores_per_task", request.cores_per_task);
  read_count(fields, "relative", request.relative);
  read_amount(fields, "memory_bytes", request.memory_bytes);
  read_amount(fields, "memory_per_core_bytes", request.memory_per_core_bytes);
  fields.texts("nodelist", request.nodelist, kNameRule, kNodesMax);
  fields.texts("exclude", request.exclude, kNameRule, kNodesMax);
  fields.boolean("overcommit", request.overcommit);
  fields.boolean("exact", request.exact);
  fields.boolean("overlap", request.overlap);
  fields.boolean("waits", request.waits);
  fields.boolean("all_cores", request.all_cores);
  fields.object("devices", [&](JsonFields& devices) { read_devices(devices, request.devices); });
  fields.countables("countables", request.countables, JsonFields::Zeros::kKept);
}

void read_streams(JsonFields& fields, std::string& stdout_path, std::string& stderr_path) {
  fields.text("stdout_path", stdout_path, kPath);
  fields.text("stderr_path", stderr_path, kPath);
}

void read_program(JsonFields& fields, backends::StepProgram& program) {
  read_amount(fields, "time_limit_s", program.time_limit_s);
  fields.texts("command", program.command, kArgument, kWordsMax);
  if (program.command.empty() || program.command.front().empty()) {
    fields.fail("command", "bad_value", "command is a list of words, the program first");
  }
  fields.text("name", program.name);
  fields.text_map("environment", program.environment, kArgument, kArgument, kVariablesMax);
  fields.text("workdir", program.workdir, kPath);
  read_streams(fields, program.stdout_path, program.stderr_path);
  program.stdin_text = "none";
  fields.text("stdin", program.stdin_text, kPath);
  program.stdin_rank = -1;
  fields.integer("stdin_rank", program.stdin_rank, -1, kTasksMax);
  fields.boolean("label", program.label);
  fields.boolean("kill_on_bad_exit", program.kill_on_bad_exit);
  fields.integer("wait_s", program.wait_s, 0, INT32_MAX);
  if (const Json* given = fields.find("container")) {
    Result<ContainerSpec> container = codec::read_container(*given);
    if (!container.ok()) {
      const std::string field = "container." + container.error().field;
      return fields.failure().set(container.error(), field);
    }
    program.container = std::move(container).value();
  }
}

void read_held(JsonFields& fields, backends::StepHolding& holding) {
  std::vector<std::int32_t> cores;
  fields.integers("cores", cores, 0, CoreSet::kEnd - 1, CoreSet::kEnd);
  for (const std::int32_t core : cores) holding.cores.insert(core);
  if (const Json* given = fields.find("devices")) {
    Result<std::vector<DeviceGrant>> devices = codec::read_grants(*given);
    if (!devices.ok()) return fields.failure().set(devices.error(), fields.path_of("devices"));
    holding.devices = std::move(devices).value();
  }
  read_amount(fields, "memory_bytes", holding.memory_bytes);
}

// As `begun` told it: what a newer server had added is left alone.
void read_held_node(JsonFields& fields, backends::StepAttach& attach) {
  std::string name;
  fields.text("node", name, kNameRule);
  if (name.empty()) fields.fail("node", "missing_field", "give the node's name");
  std::vector<std::int32_t> ranks;
  fields.integers("ranks", ranks, 0, INT32_MAX, kTasksMax);
  attach.ranks[name].assign(ranks.begin(), ranks.end());
  fields.object("held", [&](JsonFields& held) { read_held(held, attach.held[name]); });
  fields.allow_unknown();
}

void read_seen(JsonFields& fields, std::vector<backends::SeenOutput>& seen) {
  backends::SeenOutput& one = seen.emplace_back();
  std::int32_t rank = 0;
  fields.integer("rank", rank, 0, INT32_MAX);
  one.rank = static_cast<Rank>(rank);
  one.is_stderr = fields.one_of("stream", kStreams) == 1;
  fields.integer("bytes", one.bytes, 0, INT64_MAX);
}

}  // namespace

Result<StepBody> read_step(const Json& body) {
  StepBody step;
  codec::Failure failure;
  JsonFields fields(body, "", failure);
  read_request(fields, step.request);
  read_program(fields, step.program);
  fields.done();
  if (failure.any()) return failure.error();
  return step;
}

Result<backends::StepAttach> read_step_attach(const Json& body, std::int32_t step) {
  backends::StepAttach attach;
  attach.step = step;
  codec::Failure failure;
  JsonFields fields(body, "", failure);
  if (!fields.has("attempt")) fields.fail("attempt", "missing_field", "give the step's attempt");
  std::int64_t attempt = 0;
  fields.integer("attempt", attempt, 1, UINT32_MAX);
  attach.attempt = static_cast<AttemptNumber>(attempt);
  fields.objects("nodes", kNodesMax,
                 [&](JsonFields& node, std::size_t) { read_held_node(node, attach); });
  read_amount(fields, "time_left_s", attach.time_left_s);
  fields.boolean("input", attach.input);
  attach.stdin_rank = -1;
  fields.integer("stdin_rank", attach.stdin_rank, -1, kTasksMax);
  fields.boolean("kill_on_bad_exit", attach.kill_on_bad_exit);
  fields.integer("wait_s", attach.wait_s, 0, INT32_MAX);
  read_streams(fields, attach.stdout_path, attach.stderr_path);
  fields.objects("seen", 2 * static_cast<std::size_t>(kTasksMax),
                 [&](JsonFields& seen, std::size_t) { read_seen(seen, attach.seen); });
  fields.done();
  if (failure.any()) return failure.error();
  return attach;
}

}  // namespace dove::server
