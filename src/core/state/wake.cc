#include "core/state/wake.h"

#include <algorithm>
#include <set>

#include "core/cycle/derived.h"
#include "core/nodes/care.h"
#include "core/place/reservation.h"
#include "core/plan/backfill.h"
#include "core/preempt/victims.h"
#include "core/queue/dependency.h"
#include "core/state/books.h"
#include "core/state/step.h"

namespace dove::core {
namespace {

// When there are no indexes to ask: looks at everything.
Instant wake_by_scan(const State& state) {
  Instant wake = kNever;
  std::set<JobId> pinned;
  std::int64_t ended = 0;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded) {
      ++ended;
      continue;
    }
    wake = std::min(wake, wake_of(state, job));
    if (job.array) pinned.insert(job.array);
    for (const Dependency& one : job.spec->dependencies) {
      if (one.job) pinned.insert(one.job);
    }
  }
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kEnded || pinned.contains(id) || pinned.contains(job.array))
      continue;
    wake = std::min(wake, job.ended_at + state.settings.ended_jobs_kept);
    if (ended > state.settings.ended_jobs_max) wake = state.now;
  }
  for (const Node& node : state.nodes) {
    wake = std::min({wake, lost_at(state, node), care_wake(state, node)});
  }
  return std::min({wake, next_promise(state), next_boundary(state)});
}

}  // namespace

Instant lost_at(const State& state, const Node& node) {
  if (node.removed) return kNever;
  const Span fence = state.settings.fence;
  switch (node.contact) {
    case Contact::kConnected:
    case Contact::kLost:
      return kNever;
    case Contact::kBroken:
      return node.contact_since + fence + kFence_margin;
    case Contact::kSilent:
      return node.contact_since + state.settings.disconnect_grace + fence + kFence_margin;
  }
  return kNever;
}

Instant time_limit_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  const Instant latest = latest_end(state, *job.spec);
  if (attempt.started_at.us == 0) return latest;
  const Span limit = time_limit_of(state, *job.spec);
  if (limit.us == 0) return latest;
  // What was saved counts: the limit is for all slices together.
  const bool saved = job.spec->preempt == Preempt::kCheckpoint;
  const Span left = saved ? Span{limit.us - job.ran_before.us} : limit;
  return std::min(attempt.started_at + left, latest);
}

Instant missed_at(const State& state, const Job& job) {
  return latest_start(state, *job.spec) + Span{1};
}

Instant deadline_at(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  switch (attempt.stage) {
    case Stage::kAllocated:
    case Stage::kPreparing:
    case Stage::kStarting:
      return attempt.stage_at + state.settings.effect_deadline;
    case Stage::kBarrier:
    case Stage::kRunning:
    case Stage::kStopping:
    case Stage::kEnded:
      return kNever;
  }
  return kNever;
}

Instant wake_of(const State& state, const Job& job) {
  switch (job.phase) {
    case JobPhase::kWaiting: {
      if (job.cancel_requested) return kNever;
      const Instant at = startable_at(state, job);
      const Instant missed = missed_at(state, job);
      return std::min(at > state.now ? at : kNever, missed);
    }
    case JobPhase::kActive:
      if (job.attempts.back().stage == Stage::kStopping) return kNever;
      return std::min({time_limit_at(state, job), deadline_at(state, job),
                       outage_stop_at(state, job), victim_wake(state, job)});
    case JobPhase::kEnded:
      return kNever;
  }
  return kNever;
}

Instant wake_at(const State& state) {
  const Derived* derived = state.derived.get();
  if (derived == nullptr || !derived->touched.empty()) return wake_by_scan(state);
  Instant wake = std::min(next_promise(state), next_boundary(state));
  if (!derived->job_wakes.empty()) wake = std::min(wake, derived->job_wakes.begin()->first);
  if (!derived->node_wakes.empty()) wake = std::min(wake, derived->node_wakes.begin()->first);
  for (const NodeId id : derived->in_care) {
    wake = std::min(wake, care_wake(state, *state.find_node(id)));
  }
  if (!derived->forgettable.empty()) {
    const bool over = derived->ended_count > state.settings.ended_jobs_max;
    wake =
        std::min(wake, over ? state.now
                            : derived->forgettable.begin()->first + state.settings.ended_jobs_kept);
  }
  return wake;
}

}  // namespace dove::core
