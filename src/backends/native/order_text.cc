#include "backends/native/order_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/words.h"
#include "core/state/books.h"
#include "telemetry/json_text.h"

namespace dove::backends {
namespace {

using telemetry::append_json_string;
using Out = std::back_insert_iterator<std::string>;

const char* kind_text(OrderKind kind) {
  switch (kind) {
    case OrderKind::kLaunch:
      return "launch";
    case OrderKind::kStart:
      return "start";
    case OrderKind::kStop:
      return "stop";
    case OrderKind::kTest:
      return "test";
    case OrderKind::kRemedy:
      return "remedy";
  }
  return "";
}

void append_field(std::string& out, const char* name, const std::string& value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, value);
}

template <class List, class Value>
void append_numbers(std::string& out, const List& list, Value value) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    fmt::format_to(Out(out), "{}", value(item));
  }
  out += ']';
}

Span time_limit(const core::State& state, const JobSpec& spec) {
  if (spec.time_limit.us != 0) return spec.time_limit;
  for (const auto& [name, pool] : state.pools) {
    if (spec.pool.empty() ? pool.is_default : name == spec.pool) return pool.time_limit_default;
  }
  return Span{};
}

RunAs run_as_of(const core::State& state, const JobSpec& spec) {
  const Pool* pool = core::pool_of(state, spec);
  return pool == nullptr ? RunAs::kNode : pool->run_as;
}

bool wants_preflight(const core::State& state, const JobSpec& spec) {
  const Pool* pool = core::pool_of(state, spec);
  switch (pool == nullptr ? PoolSwitch::kCluster : pool->preflight) {
    case PoolSwitch::kCluster:
      break;
    case PoolSwitch::kOff:
      return false;
    case PoolSwitch::kOn:
      return true;
  }
  return state.settings.preflight;
}

void append_peers(std::string& out, const core::State& state, const Launch& launch) {
  out += ",\"placements\":[";
  bool first = true;
  for (const Placement& placement : launch.placements) {
    const core::Node* node = state.find_node(placement.node);
    if (!first) out += ',';
    first = false;
    out += "{\"node\":";
    append_json_string(out, node == nullptr ? "" : node->name);
    append_field(out, "address", node == nullptr ? "" : node->address);
    fmt::format_to(Out(out), ",\"node_rank\":{},\"ranks\":", placement.node_rank);
    append_numbers(out, placement.tasks, [](const TaskGrant& task) { return task.rank; });
    fmt::format_to(Out(out),
                   ",\"cores\":{},\"preflight_port\":{},\"devices\":", placement.cores.size(),
                   node == nullptr ? 0 : node->preflight_port);
    append_numbers(out, placement.devices, [](const DeviceGrant& grant) { return grant.device; });
    out += '}';
  }
  out += ']';
}

void append_spec(std::string& out, const core::State& state, const core::Job* job,
                 const JobSpec& spec, const Launch& launch) {
  std::size_t tasks = 0;
  for (const Placement& placement : launch.placements) tasks += placement.tasks.size();
  const Request& request = spec.groups.front().per_task;
  out += ",\"spec\":{\"name\":";
  append_json_string(out, spec.name);
  append_field(out, "user", spec.user);
  append_field(out, "project", spec.project);
  append_field(out, "queue", spec.queue);
  const Pool* pool = core::pool_of(state, spec);
  append_field(out, "pool", pool == nullptr ? spec.pool : pool->name);
  append_field(out, "launch", spec.launch == LaunchMode::kBatch ? "batch" : "each_task");
  fmt::format_to(Out(out),
                 ",\"time_limit_us\":{},\"kill_grace_us\":{},\"checkpoint_signal\":{},"
                 "\"checkpoint_grace_us\":{},\"array\":{},\"array_index\":{},"
                 "\"tasks\":{},\"cpus_per_task\":{},\"memory_bytes\":{},\"group_names\":[",
                 time_limit(state, spec).us, spec.kill_grace.us, spec.checkpoint_signal,
                 spec.checkpoint_grace.us, job == nullptr ? 0 : job->array.value,
                 job == nullptr ? 0 : job->array_index, tasks, std::max(1, request.cores),
                 request.memory_bytes);
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, spec.groups[i].name);
  }
  out += "]}";
}

}  // namespace

const std::string& OrderText::shared_part(const Order& order) {
  if (shared_of_ == order.launch.get()) return shared_;
  shared_of_ = order.launch.get();
  shared_.clear();
  const core::State& state = sources_.state;
  const JobSpec& spec = *order.spec;
  fmt::format_to(Out(shared_), ",\"restart_count\":{},\"barrier\":{}", order.restart_count,
                 order.launch->placements.size() > 1);
  if (wants_preflight(state, spec)) shared_ += ",\"preflight\":true";
  append_peers(shared_, state, *order.launch);
  append_spec(shared_, state, state.find_job(order.job), spec, *order.launch);
  const std::shared_ptr<const std::string> exec = sources_.exec(spec.exec_digest);
  shared_ += ",\"exec\":";
  shared_ += exec == nullptr ? "null" : *exec;
  const RunAs run_as = run_as_of(state, spec);
  const auto user = state.users.find(spec.user);
  std::string linux_user = user == state.users.end() ? "" : user->second.linux_user;
  if (linux_user.empty() && run_as == RunAs::kSubmitter) linux_user = spec.user;
  append_field(shared_, "linux_user", linux_user);
  append_field(shared_, "run_as", std::string(codec::word(run_as)));
  append_field(shared_, "job_token", sources_.job_token(order.job, order.attempt));
  return shared_;
}

std::string OrderText::write(const Order& order) {
  std::string out =
      fmt::format(R"({{"seq":{},"epoch":{},"order":"{}","job":{},"attempt":{})", order.seq.value,
                  order.epoch.value, kind_text(order.kind), order.job.value, order.attempt);
  switch (order.kind) {
    case OrderKind::kLaunch: {
      const auto& placements = order.launch->placements;
      const auto here =
          std::find_if(placements.begin(), placements.end(),
                       [&](const Placement& placement) { return placement.node == order.node; });
      CHECK(here != placements.end(), "a launch order names a node of the launch");
      out += ",\"placement\":";
      out += codec::placement_json(*here).dump();
      out += shared_part(order);
      break;
    }
    case OrderKind::kStart:
      break;
    case OrderKind::kStop:
      append_field(out, "reason", std::string(codec::word(order.reason)));
      if (const std::int64_t after_ms = sources_.stop_after_ms(order.job); after_ms > 0) {
        fmt::format_to(Out(out), ",\"after_ms\":{}", after_ms);
      }
      break;
    case OrderKind::kTest:
      break;
    case OrderKind::kRemedy:
      append_field(out, "remedy", std::string(codec::word(order.remedy)));
      break;
  }
  out += '}';
  return out;
}

}  // namespace dove::backends
