// Jobs as the API shows them.
#include "views/job_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"
#include "core/place/reservation.h"
#include "core/state/amount.h"
#include "core/state/cores.h"
#include "core/state/executors/placeholders.h"
#include "views/node_view.h"
#include "views/state_words.h"

namespace dove::views {
namespace {

using codec::Json;
using codec::put_instant;
using codec::put_span;
using codec::word;

void put_optional(Json& object, std::string_view name, std::string_view text) {
  object[std::string(name)] = text.empty() ? Json(nullptr) : Json(text);
}

// What the job asks for in all, as far as it does not depend on the number of nodes.
Json totals_json(const JobSpec& spec) {
  std::int64_t tasks = 0, nodes_min = 0, cores = 0, gpus_milli = 0, memory_bytes = 0;
  const auto add = [&](const Request& request, std::int64_t times) {
    cores += request.cores * times;
    gpus_milli += core::least_milli(request) * times;
    memory_bytes += static_cast<std::int64_t>(static_cast<std::uint64_t>(request.memory_bytes) *
                                              static_cast<std::uint64_t>(times));
  };
  for (const TaskGroup& group : spec.groups) {
    tasks += group.tasks;
    nodes_min += group.nodes_min;
    add(group.per_task, group.tasks);
    add(group.per_node, std::max(group.nodes_min, 1));
  }
  return {{"tasks", tasks},
          {"nodes_min", nodes_min},
          {"cores", cores},
          {"gpus_milli", gpus_milli},
          {"memory_bytes", memory_bytes}};
}

Json node_names(const core::State& state, const core::Attempt& attempt) {
  Json names = Json::array();
  for (const core::PlacementRecord& record : attempt.placements) {
    names.push_back(node_name(state, record.placement->node));
  }
  return names;
}

// NUMA nodes that hold devices of the placement and none of its cores.
std::int32_t numa_nodes_without_core(const core::State& state, const Placement& placement) {
  const core::Node* node = state.find_node(placement.node);
  if (node == nullptr || node->inventory == nullptr) return 0;
  return core::numa_nodes_without_core(*node->inventory, placement);
}

// What executors hold for the placement.
void put_placeholders(Json& object, const core::State& state, JobId job,
                      const core::Attempt& attempt, NodeId node) {
  if (state.placeholders.empty()) return;
  Json list = Json::array();
  for (auto at = state.placeholders.lower_bound({job, attempt.number, node, ""});
       at != state.placeholders.end(); ++at) {
    const auto& [key, placeholder] = *at;
    if (key.job != job || key.attempt != attempt.number || key.node != node) break;
    Json one{{"executor", key.executor},
             {"stage", word(placeholder.stage)},
             {"id", placeholder.id},
             {"why", placeholder.why}};
    put_instant(one, "since", placeholder.since);
    list.push_back(std::move(one));
  }
  if (!list.empty()) object["placeholders"] = std::move(list);
}

Json attempt_json(const core::State& state, const core::Job& job, const core::Attempt& attempt) {
  const bool waits =
      attempt.stage == Stage::kBarrier && !core::placeholders_confirmed(state, job.id, attempt);
  Json object{{"number", attempt.number},
              {"stage", waits ? std::string_view("placeholder") : word(attempt.stage)}};
  put_optional(object, "stop_reason", word(attempt.stop_reason));
  put_instant(object, "allocated_at", attempt.allocated_at);
  put_instant(object, "started_at", attempt.started_at);
  put_instant(object, "stage_at", attempt.stage_at);
  put_instant(object, "stop_at", attempt.stop_at);
  put_instant(object, "ended_at", attempt.ended_at);
  object["nodes"] = node_names(state, attempt);
  Json placements = Json::array();
  for (const core::PlacementRecord& record : attempt.placements) {
    Json placement = codec::placement_json(record.placement);
    placement["node_name"] = node_name(state, record.placement->node);
    placement["stage"] = stage_word(record.stage);
    put_placeholders(placement, state, job.id, attempt, record.placement->node);
    if (const std::int32_t far = numa_nodes_without_core(state, record.placement); far > 0) {
      placement["numa_nodes_without_core"] = far;
    }
    placements.push_back(std::move(placement));
  }
  object["placements"] = std::move(placements);
  Json exits = Json::array();
  for (const TaskExit& exit : attempt.exits) exits.push_back(codec::task_exit_json(exit));
  object["exits"] = std::move(exits);
  return object;
}

Json array_json(const core::Job& job) {
  if (!job.array) return nullptr;
  return {{"id", job.array.value},
          {"index", job.array_index},
          {"size", job.spec->array.indices.size()},
          {"running_max", job.spec->array.running_max}};
}

// Why the last attempt of a job that is over did not start, if one of its tasks did not.
// When a job that runs is stopped for its limit, its deadline, or the end of its reservation.
void put_end(Json& object, const core::State& state, const core::Job& job) {
  if (job.phase != JobPhase::kActive || job.attempts.back().started_at.us == 0) return;
  const Instant end = core::time_limit_at(state, job);
  if (end != kNever) put_instant(object, "ends_by", end);
}

void put_start_failure(Json& object, const core::Job& job, const core::Attempt* attempt) {
  constexpr std::string_view kBegin = "start_failed: ";
  if (job.phase != JobPhase::kEnded || attempt == nullptr) return;
  for (const TaskExit& exit : attempt->exits) {
    if (!exit.cause.starts_with(kBegin)) continue;
    object["start_failure"] = exit.cause.substr(kBegin.size());
    return;
  }
}

// Only of those that are idle, were stopped for it, or are kept.
void put_idle(Json& object, const core::State& state, const core::Job& job) {
  if (const auto idle = state.idle.find(job.id); idle != state.idle.end()) {
    const core::IdleNotice& notice = idle->second;
    Json& said = object["idle"] = {
        {"check", word(notice.check)}, {"rule", notice.rule}, {"evidence", notice.evidence}};
    put_instant(said, "observed_at", notice.observed_at);
    put_instant(said, "ends_at", notice.ends_at);
  }
  const auto kept = state.kept.find(job.id);
  if (kept != state.kept.end() && kept->second > state.now && job.phase == JobPhase::kActive) {
    put_instant(object, "kept_until", kept->second);
  }
}

}  // namespace

Json job_summary_json(const core::State& state, const core::Job& job) {
  const JobSpec& spec = *job.spec;
  const core::Attempt* attempt = job.attempts.empty() ? nullptr : &job.attempts.back();
  Json object{{"id", job.id.value},
              {"name", spec.name},
              {"user", spec.user},
              {"project", spec.project},
              {"queue", spec.queue},
              {"pool", spec.pool},
              {"phase", word(job.phase)},
              {"state", state_word(job)},
              {"priority", job.priority},
              {"launch", word(spec.launch)},
              {"array", array_json(job)},
              {"request", totals_json(spec)},
              {"attempt", attempt == nullptr ? 0 : attempt->number},
              {"nodes", attempt == nullptr ? Json::array() : node_names(state, *attempt)}};
  put_optional(object, "outcome", word(job.outcome));
  object["exit_code"] = job.phase == JobPhase::kEnded ? Json(job.exit_code) : Json(nullptr);
  put_span(object, "time_limit", spec.time_limit);
  put_instant(object, "submitted_at", job.submitted_at, true);
  put_instant(object, "eligible_at", job.eligible_at);
  const auto promise = state.promises.find(job.id);
  put_instant(object, "promised_start",
              promise == state.promises.end() ? Instant{} : promise->second.start_at);
  put_instant(object, "started_at", attempt == nullptr ? Instant{} : attempt->started_at);
  put_end(object, state, job);
  put_instant(object, "ended_at", job.ended_at);
  put_start_failure(object, job, attempt);
  put_idle(object, state, job);
  return object;
}

Json job_json(const core::State& state, const core::Job& job) {
  Json object = codec::spec_json(*job.spec);
  object.update(job_summary_json(state, job));
  object["held"] = job.held;
  object["parent"] = job.spec->parent ? Json(job.spec->parent.value) : Json(nullptr);
  object["cancel_requested"] = job.cancel_requested;
  object["cancelled_by"] = job.cancelled_by.text();
  object["requeue_requested"] = job.requeue_requested;
  object["retries_used"] = job.retries_used;
  object["submitted_seq"] = job.submitted_seq.value;
  object["exec_digest"] = job.spec->exec_digest;
  Json avoided = Json::array();
  for (const NodeId node : job.nodes_avoided) avoided.push_back(node_name(state, node));
  object["nodes_avoided"] = std::move(avoided);
  Json attempts = Json::array();
  for (const core::Attempt& attempt : job.attempts) {
    attempts.push_back(attempt_json(state, job, attempt));
  }
  object["attempts"] = std::move(attempts);
  return object;
}

}  // namespace dove::views
