#include "core/state/executors/placeholders.h"

#include <algorithm>

namespace dove::core {
namespace {

// Doubled with each refusal after the first.
Span backoff(const Job& job, Span first, Span most) {
  Span wait = first;
  std::size_t refused = 0;
  for (auto at = job.attempts.rbegin(); at != job.attempts.rend(); ++at) {
    // In a row: an attempt that got its placeholders begins a new one.
    if (at->stop_reason != StopReason::kPlaceholder || wait >= most) break;
    if (refused++ > 0) wait = wait + wait;
  }
  return std::min(wait, most);
}

}  // namespace

bool placeholders_confirmed(const State& state, JobId job, const Attempt& attempt) {
  // Clusters without executors ask this for each start.
  if (state.placeholders.empty()) return true;
  bool all = true;
  each_placeholder(state, job, attempt.number,
                   [&](const PlaceholderKey&, const Placeholder& placeholder) {
                     switch (placeholder.stage) {
                       case PlaceholderStage::kWanted:
                       case PlaceholderStage::kAsked:
                       // Refused: the attempt is stopped, and must not start meanwhile.
                       case PlaceholderStage::kRefused:
                         all = false;
                         return;
                       case PlaceholderStage::kConfirmed:
                       case PlaceholderStage::kReleased:  // its placement has ended
                       case PlaceholderStage::kGone:
                         return;
                     }
                   });
  return all;
}

const PlacementRecord* placement_of(const State& state, const PlaceholderKey& key) {
  const Job* job = state.find_job(key.job);
  // A placeholder may outlive its attempt: it is released, not yet gone.
  if (job == nullptr || job->attempts.empty()) return nullptr;
  const Attempt& attempt = job->attempts.back();
  if (attempt.number != key.attempt) return nullptr;
  for (const PlacementRecord& record : attempt.placements) {
    if (record.placement->node == key.node) return &record;
  }
  return nullptr;
}

std::vector<std::int32_t> devices_of(const Placement& placement) {
  std::vector<std::int32_t> devices;
  for (const DeviceGrant& grant : placement.devices) {
    // Grants of one device, by share or slice, follow one another.
    if (devices.empty() || devices.back() != grant.device) devices.push_back(grant.device);
  }
  return devices;
}

Span placeholder_backoff(const Job& job) { return backoff(job, seconds(1), kBackoff_max); }

Span room_backoff(const Job& job) { return backoff(job, kRoomBackoff_min, kRoomBackoff_max); }

bool holds_for(const NodeExecutor& executor, const JobSpec& spec) {
  return executor.placeholders || executor.name == spec.executor;
}

bool want_placeholders(State& state, const Node& node, JobId job, AttemptNumber attempt) {
  bool any = false;
  const JobSpec& spec = *state.find_job(job)->spec;
  for (const NodeExecutor& executor : node.executors) {
    if (!holds_for(executor, spec)) continue;
    any = true;
    const PlaceholderKey key{job, attempt, node.id, executor.name};
    // Those that exist stay as they are: an executor that is declared again need not confirm anew.
    state.placeholders.try_emplace(key, Placeholder{PlaceholderStage::kWanted, state.now, "", ""});
  }
  return any;
}

void release_placeholders(State& state, JobId job, AttemptNumber attempt, NodeId node) {
  // Keys ascend by job, attempt and node, so those of one placement lie together.
  for (auto at = state.placeholders.lower_bound({job, attempt, node, ""});
       at != state.placeholders.end() && at->first.job == job && at->first.attempt == attempt &&
       at->first.node == node;
       ++at) {
    at->second.stage = PlaceholderStage::kReleased;
    at->second.since = state.now;
  }
}

}  // namespace dove::core
