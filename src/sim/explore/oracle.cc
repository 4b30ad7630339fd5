#include "sim/explore/oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/explain/explain.h"
#include "core/plan/promise.h"
#include "core/queue/policy.h"
#include "core/state/books.h"
#include "core/state/hash.h"
#include "core/state/invariants.h"

namespace dove::sim {
namespace {

// A connected node has answered an order, and ended what it was told to, long before.
constexpr Span kOverdue = seconds(4 * 3600);
constexpr Span kReported = seconds(60);
// A scheduler beside us may take this long to begin what was told to have begun.
constexpr Span kBegun = seconds(300);

// An executor has begun it, and the ledger, which has not heard of that, has taken its place back.
bool is_unheard(const core::Job& job) {
  return !job.spec->foreign_job.empty() && job.attempts.back().started_at.us == 0;
}

}  // namespace

void Oracle::fail(std::string what) {
  if (!broken_.has_value()) broken_ = std::move(what);
}

std::uint64_t Oracle::ended(Outcome outcome) const {
  const auto found = ended_.find(outcome);
  return found == ended_.end() ? 0 : found->second;
}

// -- what is durable -----------------------------------------------------------------------------

void Oracle::durable(const store::Batch& batch, const core::State& state) {
  trace_.add(agenda_.now_us(), batch);
  fingerprint_.add(static_cast<std::uint64_t>(batch.at.us));
  fingerprint_.add(batch.events.size());
  fingerprint_.add(batch.decisions_digest);
  for (const StampedEvent& event : batch.events) {
    event_is_durable(event);
    if (const auto* moved = std::get_if<PlaceholderMoved>(&event.event)) confirmed(*moved, state);
  }
  for (const Decision& decision : batch.decisions) {
    if (const auto* launch = std::get_if<Launch>(&decision)) launched(*launch, batch, state);
    if (const auto* stop = std::get_if<Stop>(&decision)) stopped(*stop, state);
    if (const auto* again = std::get_if<Requeue>(&decision)) requeued(*again, state);
    if (const auto* end = std::get_if<EndJob>(&decision)) job_ended(*end, state);
    if (const auto* forget = std::get_if<ForgetJob>(&decision)) outcomes_.erase(forget->job.value);
  }
  if (batch.epoch < last_epoch_ || batch.epoch < newest_epoch_) {
    fail(fmt::format("a batch of term {} is durable, though term {} has begun", batch.epoch.value,
                     std::max(last_epoch_, newest_epoch_).value));
  }
  last_epoch_ = batch.epoch;
  if (++batches_ % every_ == 0) check_books(state);
}

void Oracle::answers(const std::string& controller, Epoch epoch) {
  if (epoch >= newest_epoch_) return;
  fail(fmt::format("{} of term {} answers, though term {} has begun", controller, epoch.value,
                   newest_epoch_.value));
}

// The ledger cannot take over a core on which somebody runs who lost its hold.
void Oracle::confirmed(const PlaceholderMoved& moved, const core::State& state) {
  const core::Job* job = state.find_job(moved.job);
  const bool is_now = job != nullptr && !job->attempts.empty() &&
                      job->attempts.back().number == moved.attempt && !moved.cores.empty();
  if (!is_now) return;
  if (!has_loose_cores(moved.node.value)) return;
  for (const core::PlacementRecord& record : job->attempts.back().placements) {
    const bool is_here = record.placement->node == moved.node;
    if (!is_here || moved.cores.contains(record.placement->cores)) continue;
    loose_.insert({moved.node.value, moved.job.value});
  }
}

void Oracle::event_is_durable(const StampedEvent& event) {
  const auto* submitted = std::get_if<JobSubmitted>(&event.event);
  if (submitted == nullptr) return;
  const std::string& key = event.cause.idempotency_key;
  // A key is good for a day. What waits in a scheduler beside us for longer, and is over here, is
  // told again.
  const auto former = keys_.find(key);
  const bool is_told_again =
      key.starts_with("gate ") && former != keys_.end() && over_.count(former->second) != 0;
  if (is_told_again) keys_.erase(former);
  if (!key.empty() && !keys_.emplace(key, next_job_).second) {
    fail(fmt::format("the submission {} became job {} and again job {}", key, keys_[key],
                     next_job_));
  }
  next_job_ += std::max<std::size_t>(submitted->spec->array.indices.size(), 1);
}

void Oracle::launched(const Launch& launch, const store::Batch& batch, const core::State& state) {
  ++launches_;
  const std::uint64_t id = launch.job.value;
  const core::Job* job = state.find_job(launch.job);
  if (job == nullptr || job->phase != JobPhase::kActive) {
    return fail(fmt::format("job {} is launched but not active", id));
  }
  Attempt& attempt = attempts_[{id, launch.attempt}];
  forget_lost_holds(id);
  check_given(launch);
  keep_room(launch, state);
  if (!attempt.nodes.empty()) fail(fmt::format("job {} is launched twice as one attempt", id));
  for (const Placement& placement : launch.placements) {
    attempt.nodes[placement.node.value] = placement.memory_bytes;
    attempt.tasks += static_cast<std::uint32_t>(placement.tasks.size());
    const core::Node* node = state.find_node(placement.node);
    if (node == nullptr || node->contact != Contact::kConnected) {
      fail(fmt::format("job {} is launched on a node that is not connected", id));
    } else if (node->declared.drained) {
      fail(fmt::format("job {} is launched on {}, which is drained", id, node->name));
    }
  }
  if (job->spec->launch == LaunchMode::kBatch) attempt.tasks = 1;
  if (job->held) fail(fmt::format("job {} is launched although it is held", id));
  if (job->spec->begin_at > batch.at) fail(fmt::format("job {} is launched too early", id));
  check_dependencies(*job, state);
}

void Oracle::check_dependencies(const core::Job& job, const core::State& state) {
  if (job.attempts.size() > 1) return;
  for (const Dependency& one : job.spec->dependencies) {
    if (one.kind != DependencyKind::kAfterOk) continue;
    const core::Job* other = state.find_job(one.job);
    const bool met = other != nullptr && other->phase == JobPhase::kEnded &&
                     other->outcome == Outcome::kCompleted;
    if (!met) {
      fail(fmt::format("job {} is launched before job {}, which it waits for, has ended well",
                       job.id.value, one.job.value));
    }
  }
}

void Oracle::stopped(const Stop& stop, const core::State& state) {
  const core::Job* job = state.find_job(stop.job);
  if (job == nullptr || stop.reason != StopReason::kTimeLimit) return;
  const Span limit = core::time_limit_of(state, *job->spec);
  const Instant due = job->attempts.back().started_at + limit;
  if (limit.us == 0 || due > state.now) {
    return fail(fmt::format("job {} is stopped before its time limit", stop.job.value));
  }
  check_time_limit(*job, limit);
  ++limits_met_;
  const std::int64_t late_us =
      std::min(state.now.us - due.us, agenda_.now_us() - controller_since_us_);
  limits_late_us_ = std::max(limits_late_us_, late_us);
}

// Whatever the leader's clock is set to: durations are wrong by a thousandth at most
// (controller/instants.h). The clock of the next leader may be another one.
void Oracle::check_time_limit(const core::Job& job, Span limit) {
  const auto seen = attempts_.find({job.id.value, job.attempts.back().number});
  const bool is_its = seen != attempts_.end() && seen->second.started_us > 0 &&
                      seen->second.started_in == newest_epoch_;
  if (!is_its) return;
  const std::int64_t ran_us = agenda_.now_us() - seen->second.started_us;
  const Span reported = seen->second.is_beside ? kBegun : kReported;
  if (ran_us + limit.us / 500 + reported.us >= limit.us) return;
  fail(fmt::format("job {} is stopped by its time limit of {} s after {} s", job.id.value,
                   limit.us / 1'000'000, ran_us / 1'000'000));
}

void Oracle::job_ended(const EndJob& end, const core::State& state) {
  const std::uint64_t id = end.job.value;
  const core::Job* job = state.find_job(end.job);
  ++ended_[end.outcome];
  outcomes_[id] = end.outcome;
  over_.insert(id);
  acknowledged_.erase(id);
  if (job == nullptr) return fail(fmt::format("job {} ended but is not there", id));
  const auto live = live_.find(id);
  if (live != live_.end() && !is_unheard(*job)) {
    fail(fmt::format("job {} ended, but tasks of it still run", id));
  }
  const int retries_max = job->spec->retries_max;
  if (job->retries_used > retries_max) fail(fmt::format("job {} was retried too often", id));
  const auto attempt =
      job->attempts.empty() ? attempts_.end() : attempts_.find({id, job->attempts.back().number});
  const int own_failures = static_cast<int>(own_failures_[id].size());
  switch (end.outcome) {
    case Outcome::kCompleted:
      if (attempt == attempts_.end() || attempt->second.ended_well < attempt->second.tasks) {
        fail(fmt::format("job {} counts as completed, but not all of its tasks ended well", id));
      }
      break;
    case Outcome::kFailed:
      if (job->attempts.back().stop_reason == StopReason::kTaskFailed &&
          job->spec->foreign_job.empty() && own_failures < retries_max + 1) {
        fail(fmt::format("job {} failed after {} failures of its own, with {} retries allowed", id,
                         own_failures, retries_max));
      }
      break;
    case Outcome::kCancelled:
      // A job at the gate is given up where it has gone from its own scheduler's queue.
      if (cancels_.count(id) == 0 && job->spec->foreign_job.empty())
        fail(fmt::format("job {} was cancelled by nobody", id));
      break;
    case Outcome::kNodeLost:
      if (job->spec->requeue) fail(fmt::format("job {} was not requeued after a lost node", id));
      break;
    case Outcome::kNone:
    case Outcome::kTimedOut:
    case Outcome::kDeadlineMissed:
    case Outcome::kStoppedIdle:
    case Outcome::kDependencyNeverMet:
      break;
  }
  for (const core::Attempt& each : job->attempts) attempts_.erase({id, each.number});
  own_failures_.erase(id);
  forget_lost_holds(id);
  forget_rooms(id);
}

void Oracle::requeued(const Requeue& again, const core::State& state) {
  const core::Job* job = state.find_job(again.job);
  if (job == nullptr) return;
  const std::uint64_t id = again.job.value;
  forget_rooms(id);
  if (live_.count(id) != 0 && !is_unheard(*job)) {
    fail(fmt::format("job {} is queued again, but tasks still run", id));
  }
  if (again.counted != (again.reason == StopReason::kTaskFailed)) {
    fail(fmt::format("a retry of job {} is counted although it is none, or the reverse", id));
  }
}

// -- promises ------------------------------------------------------------------------------------

void Oracle::acknowledged(const std::string& key, std::uint64_t id) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) {
    return fail(
        fmt::format("submission {} was acknowledged as job {} before it was durable", key, id));
  }
  if (found->second != id) {
    return fail(fmt::format("submission {} is job {}, but was acknowledged as job {}", key,
                            found->second, id));
  }
  if (outcomes_.count(id) == 0) acknowledged_.insert(id);
}

void Oracle::recovered(const core::State& state, std::uint64_t hash_before) {
  if (core::state_hash(state) != hash_before) {
    fail("the state read back from the log is not the one that was lost");
  }
  for (const std::uint64_t id : acknowledged_) {
    if (state.find_job(JobId(id)) == nullptr) {
      return fail(fmt::format("job {} was acknowledged and is lost after a restart", id));
    }
  }
  check_books(state);
}

void Oracle::check_books(const core::State& state) {
  ++full_checks_;
  if (const auto found = core::find_broken_invariant(state)) fail("books: " + *found);
  if (const auto found = core::find_broken_promise(state)) fail("promises: " + *found);
}

void Oracle::look_around(const core::State& state, const core::Policies& policies) {
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kWaiting) {
      const auto since = std::max(job.submitted_at,
                                  job.attempts.empty() ? Instant{} : job.attempts.back().ended_at);
      if (state.now - since < kOverdue) continue;
      if (core::explain(state, policies, id).empty()) {
        return fail(fmt::format("job {} waits for hours and nothing says why", id.value));
      }
      continue;
    }
    if (job.phase != JobPhase::kActive) continue;
    check_foreign_devices(job);
    const core::Attempt& attempt = job.attempts.back();
    const bool reachable =
        std::all_of(attempt.placements.begin(), attempt.placements.end(), [&](const auto& record) {
          const core::Node* node = state.find_node(record.placement->node);
          return record.stage == core::PlacementStage::kEnded ||
                 (node->contact == Contact::kConnected &&
                  state.now - node->contact_since > kOverdue);
        });
    if (!reachable) continue;
    const Span limit = core::time_limit_of(state, *job.spec);
    const auto seen = attempts_.find({id.value, attempt.number});
    if (limit.us > 0 && seen != attempts_.end() && seen->second.started_us > 0 &&
        agenda_.now_us() - seen->second.started_us > limit.us + kOverdue.us) {
      return fail(fmt::format("job {} runs for hours beyond its time limit", id.value));
    }
    if (attempt.stage != Stage::kRunning && state.now - attempt.stage_at > kOverdue) {
      return fail(fmt::format("job {} makes no progress: for hours in stage {}", id.value,
                              static_cast<int>(attempt.stage)));
    }
    if (attempt.stage == Stage::kRunning && live_.count(id.value) == 0 &&
        state.now - attempt.started_at > kOverdue &&
        (seen == attempts_.end() || agenda_.now_us() - seen->second.over_us > kOverdue.us)) {
      return fail(fmt::format("job {} counts as running, but no task of it runs", id.value));
    }
  }
}

void Oracle::finished(const core::State& state, const core::Policies& policies) {
  check_books(state);
  for (const std::uint64_t id : acknowledged_) {
    const core::Job* job = state.find_job(JobId(id));
    if (job == nullptr) return fail(fmt::format("job {} was acknowledged and is lost", id));
    if (job->phase == JobPhase::kEnded) continue;
    if (job->phase == JobPhase::kWaiting && !core::explain(state, policies, job->id).empty() &&
        job->held) {
      continue;
    }
    return fail(
        fmt::format("job {} has neither ended nor a reason to wait, long after the last "
                    "fault and the last submission",
                    id));
  }
  if (!live_.empty())
    fail(fmt::format("job {} still runs although it is over", live_.begin()->first));
}

}  // namespace dove::sim
