#include "core/state/fold.h"

#include <algorithm>

#include "core/collections/sorted.h"
#include "core/state/books.h"
#include "core/state/executors/conflicts.h"
#include "core/state/executors/placeholders.h"
#include "core/state/running/hang.h"

namespace dove::core {

Attempt* current_attempt(Job& job) {
  return job.phase == JobPhase::kActive && !job.attempts.empty() ? &job.attempts.back() : nullptr;
}

PlacementRecord* find_placement(Attempt& attempt, NodeId node) {
  for (PlacementRecord& record : attempt.placements) {
    if (record.placement->node == node) return &record;
  }
  return nullptr;
}

std::int32_t requeues_after(const State& state, const Job& job, StopReason reason) {
  // Only what may be the job's own doing counts, a node that it brings down included. A preemption
  // or a person's requeue says nothing about it.
  if (reason != StopReason::kNodeLost && reason != StopReason::kLaunchFailed &&
      reason != StopReason::kPreflight && reason != StopReason::kHung) {
    return 0;
  }
  // An attempt that got on shows that the job can run, and ends the row.
  return ran_well(state, job) >= kProgress ? 0 : job.requeues_in_a_row + 1;
}

void set_stage(State& state, Attempt& attempt, Stage stage) {
  attempt.stage = stage;
  attempt.stage_at = state.now;
}

void advance_stage(State& state, Attempt& attempt) {
  bool all_prepared = true;
  bool all_started = true;
  for (const PlacementRecord& record : attempt.placements) {
    all_prepared = all_prepared && record.stage != PlacementStage::kOrdered;
    // One that has ended had started, or its attempt is stopped for that.
    all_started = all_started && (record.stage == PlacementStage::kStarted ||
                                  record.stage == PlacementStage::kEnded);
  }
  // Forward only: late reports find a later stage, and change nothing.
  switch (attempt.stage) {
    case Stage::kAllocated:
    case Stage::kPreparing:
    case Stage::kBarrier:
    case Stage::kStarting:
      if (all_started) {
        set_stage(state, attempt, Stage::kRunning);
      } else if (all_prepared && attempt.stage < Stage::kBarrier) {
        set_stage(state, attempt, attempt.has_barrier() ? Stage::kBarrier : Stage::kStarting);
      }
      return;
    case Stage::kRunning:
    case Stage::kStopping:
    case Stage::kEnded:
      return;
  }
}

void end_placement(State& state, Job& job, PlacementRecord& record) {
  record.stage = PlacementStage::kEnded;
  Node& node = *state.find_node(record.placement->node);
  // Released, not forgotten: the executor holds it until it says that it does not.
  release_placeholders(state, job.id, job.attempts.back().number, node.id);
  release(node, record.placement);
  drop_sorted(node.jobs, job.id);
  // Whoever else holds the device may have it alone now.
  if (!node.executors.empty() && settle_conflicts(state, node)) state.changes.touch(node.id);
  count_placement(state, job, record.placement, -1);
  state.changes.touch(job.id);
  state.changes.release(node.id);
  state.changes.note_usage_fell();
}

void lose_placements(State& state, Node& node) {
  // A copy: each placement that ends takes its job off the node's list.
  const std::vector<JobId> held = node.jobs;
  for (JobId id : held) {
    Job* job = state.find_job(id);
    Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
    PlacementRecord* record = attempt == nullptr ? nullptr : find_placement(*attempt, node.id);
    if (record == nullptr || record->stage == PlacementStage::kEnded) continue;
    // What an executor runs goes on until the executor says that it has ended.
    if (!job->spec->executor.empty()) continue;
    end_placement(state, *job, *record);
    // Ranks that failed for want of a lost one did not fail by their own doing.
    if (attempt->stop_reason == StopReason::kNone ||
        attempt->stop_reason == StopReason::kTaskFailed) {
      attempt->stop_reason = StopReason::kNodeLost;
    }
    // The next attempt goes elsewhere if it can, also where this node comes back at once.
    avoid(*job, node.id);
  }
}

void add_exit(Attempt& attempt, const TaskExit& exit) {
  const bool told = std::any_of(attempt.exits.begin(), attempt.exits.end(),
                                [&](const TaskExit& e) { return e.rank == exit.rank; });
  if (!told) attempt.exits.push_back(exit);
}

void avoid(Job& job, NodeId node) { add_sorted(job.nodes_avoided, node); }

void set_contact(State& state, Node& node, Contact contact) {
  node.contact = contact;
  node.contact_since = state.now;
  state.changes.touch(node.id);
}

}  // namespace dove::core
