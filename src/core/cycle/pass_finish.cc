// The pass kFinish: attempts that failed or were cancelled are stopped, and those that are over on
// all their nodes end their job, or send it back to the queue.
#include <algorithm>

#include "core/cycle/kept_room.h"
#include "core/cycle/passes.h"
#include "core/state/executors/foreign.h"
#include "core/state/fold.h"
#include "core/state/read_ahead.h"
#include "core/state/running/hang.h"

namespace dove::core {
namespace {

// How many launches in a row may fail before the job does.
constexpr int kLaunch_failures_max = 5;
constexpr Span kFails_at_once = seconds(2);
constexpr Span kLaunch_pause_max = seconds(60);

// The task did not end by its own doing: its node, or what held it there, failed.
bool was_lost(const TaskExit& exit) {
  return exit.cause == "fenced" || exit.cause == "shim_lost" ||
         exit.cause == "agent_lost_its_record" || exit.cause == "agent_stopped" ||
         exit.cause == "machine_stopped" || exit.cause == kExecutor_lost;
}

std::int32_t code_of(const TaskExit& exit) {
  // As shells report it, so that scripts that know 137 know ours.
  if (exit.signal > 0) return 128 + exit.signal;
  return exit.exit_code == 0 && !exit.ok() ? 1 : exit.exit_code;
}

// The highest of those that ended by themselves: what Stop did to the others tells nothing.
std::int32_t exit_code_of(const Attempt& attempt) {
  std::int32_t code = 0;
  // Exits from before the stop, if there was one: what Stop did is no verdict about the program.
  const std::size_t count =
      attempt.exits_at_stop > 0 ? attempt.exits_at_stop : attempt.exits.size();
  for (std::size_t i = 0; i < count; ++i) code = std::max(code, code_of(attempt.exits[i]));
  return code;
}

// What the exits told so far make of the attempt; kNone: nothing yet.
StopReason reason_by_exits(const Job& job, const Attempt& attempt) {
  StopReason reason = StopReason::kNone;
  for (const TaskExit& exit : attempt.exits) {
    if (exit.ok()) continue;
    // One lost task outweighs failed ones: a gang whose node went away fails everywhere else as a
    // consequence.
    if (was_lost(exit)) return StopReason::kNodeLost;
    reason = StopReason::kTaskFailed;
  }
  // A batch job is over when its main task is, whatever its steps still do (Slurm).
  if (reason != StopReason::kNone || job.spec->launch != LaunchMode::kBatch) return reason;
  const bool main_ended = std::any_of(attempt.exits.begin(), attempt.exits.end(),
                                      [](const TaskExit& exit) { return exit.rank == 0; });
  return main_ended || attempt.placements.front().stage == PlacementStage::kEnded
             ? StopReason::kFinished
             : StopReason::kNone;
}

// Why an attempt that still holds nodes must stop now; kNone: it goes on.
StopReason stop_reason_now(const State& state, const Job& job, const Attempt& attempt) {
  // In this order: what people asked for comes before what the attempt did.
  if (job.cancel_requested) return StopReason::kCancelled;
  if (job.requeue_requested) return StopReason::kRequeued;
  if (attempt.stop_reason != StopReason::kNone) return attempt.stop_reason;
  const StopReason by_exits = reason_by_exits(job, attempt);
  return by_exits != StopReason::kNone ? by_exits : stop_reason_by_hang(state, job);
}

int launch_failures_in_a_row(const Job& job) {
  int failures = 0;
  for (auto at = job.attempts.rbegin(); at != job.attempts.rend(); ++at) {
    if (at->stop_reason != StopReason::kLaunchFailed) break;
    ++failures;
  }
  // Each but the last was counted as a requeue. That count begins anew when an ended job is run
  // again, or a held one released: the failures of before are somebody's who has looked at them.
  return std::min(failures, job.requeues_in_a_row + 1);
}

// The pause before the next launch, after `failures` in a row, the last of which took `took`. The
// first failure is another node's chance. What fails at once, as an image that is not there, fails
// again at once, and its owner should hear of it; what took its time, as a folder that hangs, may
// be back after a while.
Span pause_after(int failures, Span took) {
  if (failures < 2 || took < kFails_at_once) return {};
  return std::min(Span{took.us << (failures - 2)}, kLaunch_pause_max);
}

// A person who asked for another attempt while this one was ending has been told that it comes.
bool gives_way(StopReason reason) {
  return reason == StopReason::kNone || reason == StopReason::kFinished ||
         reason == StopReason::kTimeLimit || reason == StopReason::kIdle;
}

// What becomes of a job whose attempt is over on all its nodes.
Decision over(const State& state, const Job& job, const Attempt& attempt) {
  StopReason reason = attempt.stop_reason;
  // No reason of ours, or only the first task's: the exits say what it was after all of them are
  // in.
  if (reason == StopReason::kNone || reason == StopReason::kTaskFailed) {
    reason = reason_by_exits(job, attempt);
  }
  if (job.requeue_requested && gives_way(reason)) reason = StopReason::kRequeued;
  const std::int32_t code = exit_code_of(attempt);
  const auto ends = [&](Outcome outcome, std::int32_t with) {
    return EndJob{job.id, outcome, with};
  };
  const auto again = [&](bool counted, Span pause = {}) -> Decision {
    // Cancelled while it was on its way back to the queue: it does not go there.
    if (job.cancel_requested) return ends(Outcome::kCancelled, code);
    const bool held = requeues_after(state, job, reason) >= state.settings.requeues_max;
    return Requeue{job.id, reason, counted, held, pause};
  };
  switch (reason) {
    case StopReason::kNone:
    case StopReason::kFinished:
      return ends(Outcome::kCompleted, code);
    case StopReason::kTaskFailed:
      if (job.requeue_requested) return again(false);
      // A failure is counted, a loss is not: retries are for the program, and a node is none of its
      // doing.
      if (job.retries_used < job.spec->retries_max) return again(true);
      return ends(Outcome::kFailed, std::max(code, 1));
    case StopReason::kCancelled:
      return ends(Outcome::kCancelled, code);
    case StopReason::kTimeLimit:
      return ends(Outcome::kTimedOut, std::max(code, 1));
    case StopReason::kIdle:
      return ends(Outcome::kStoppedIdle, std::max(code, 1));
    case StopReason::kNodeLost:
      if (job.spec->requeue || job.requeue_requested) return again(false);
      return ends(Outcome::kNodeLost, std::max(code, 1));
    case StopReason::kPreempted:
      // Only an outage stops a job whose owner did not allow it: as if its node had been lost.
      if (job.spec->preempt == Preempt::kNone && !job.spec->requeue) {
        return ends(Outcome::kNodeLost, std::max(code, 1));
      }
      return again(false);
    case StopReason::kRequeued:
    case StopReason::kPreflight:
    case StopReason::kPlaceholder:
      return again(false);
    case StopReason::kHung:
      if (job.requeue_requested || state.settings.on_hang != OnHang::kRetry) return again(false);
      if (job.retries_used < job.spec->retries_max) return again(true);
      return ends(Outcome::kFailed, std::max(code, 1));
    // A launch that fails again and again on different nodes is the job's fault (an image that is
    // not there, say).
    case StopReason::kLaunchFailed: {
      const int failures = launch_failures_in_a_row(job);
      if (failures < kLaunch_failures_max) {
        return again(false, pause_after(failures, state.now - attempt.allocated_at));
      }
      return ends(Outcome::kFailed, std::max(code, 1));
    }
  }
  return ends(Outcome::kFailed, std::max(code, 1));
}

void finish_job(Cycle& cycle, const Job& job) {
  switch (job.phase) {
    case JobPhase::kWaiting:
      // It holds nothing, so there is nothing to stop first.
      if (job.cancel_requested) cycle.emit(EndJob{job.id, Outcome::kCancelled, 0});
      return;
    case JobPhase::kActive: {
      const Attempt& attempt = job.attempts.back();
      const bool is_over = std::all_of(
          attempt.placements.begin(), attempt.placements.end(),
          [](const PlacementRecord& record) { return record.stage == PlacementStage::kEnded; });
      if (is_over) {
        cycle.emit(over(cycle.state, job, attempt));
        // In the same cycle: before anybody else can take it.
        if (auto kept = keep_room(cycle, job)) {
          for (const JobId id : promised_since(cycle.state, *kept)) cycle.emit(Withdraw{id});
          cycle.emit(*std::move(kept));
        }
        return;
      }
      // Stopping already: the next report ends it, or a deadline does.
      if (attempt.stage == Stage::kStopping) return;
      const StopReason reason = stop_reason_now(cycle.state, job, attempt);
      if (reason != StopReason::kNone) cycle.emit(Stop{job.id, attempt.number, reason});
      return;
    }
    case JobPhase::kEnded:
      return;
  }
}

}  // namespace

Back finish(Cycle& cycle) {
  // Each job that changed, once, in ascending order: the emitted decisions are the same however the
  // work came in.
  WorkList<JobId>& work = cycle.indexes.to_finish;
  ReadAhead read_ahead(cycle.state, true);
  while (!work.empty()) {
    read_ahead.before([&] { return work.soon(); });
    const JobId id = work.take_first();
    const Job* job = cycle.state.find_job(id);
    if (job != nullptr) finish_job(cycle, *job);
  }
  return std::nullopt;
}

}  // namespace dove::core
