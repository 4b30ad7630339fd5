#include "core/state/restored/restored.h"

#include <algorithm>

#include "core/collections/sorted.h"
#include "core/state/books.h"
#include "core/state/fold.h"
#include "core/state/learned/learned.h"
#include "model/incarnation.h"

namespace dove::core {
namespace {

// Jobs are taken to have come at this rate since the backup, and a number at once beside.
// Faster than any cluster takes jobs: ids that were given after the backup are never given again.
constexpr std::uint64_t kJobsPerSecond = 1000;
constexpr std::uint64_t kJobsAtOnce = 1'000'000;
// An attempt a second since the job came, and this many beside.
constexpr std::int64_t kAttemptsBeside = 100;

std::int64_t seconds_between(Instant from, Instant to) {
  return std::max<std::int64_t>((to - from).us / 1'000'000, 0);
}

// Only jobs that the backup knows can have run on unseen.
bool is_of_before(const State& state, const Job& job) {
  return state.incarnation > 0 && job.submitted_at <= state.restored_at;
}

bool is_awaited(const Node& node) {
  return !node.removed && node.contact != Contact::kLost && node.awaited;
}

Placement unknown_placement(const Job& job, NodeId node, std::size_t rank) {
  Placement placement;
  placement.node = node;
  // In the order in which nodes report, as nothing else is known of the gang.
  placement.node_rank = static_cast<std::int32_t>(rank);
  const auto& groups = job.spec->groups;
  // With several tasks nobody knows which of them are here.
  if (groups.size() == 1 && groups.front().tasks == 1) placement.tasks.emplace_back();
  return placement;
}

void hold(State& state, Job& job, NodeId id) {
  Attempt& attempt = job.attempts.back();
  PlacementRecord record{unknown_placement(job, id, attempt.placements.size())};
  // Its task runs already, from before the restore.
  record.stage = PlacementStage::kPrepared;  // so that nobody orders it anew
  Node& node = *state.find_node(id);
  allocate(node, record.placement);
  add_sorted(node.jobs, job.id);
  count_placement(state, job, record.placement, +1);
  attempt.placements.push_back(std::move(record));
  state.changes.allocate(node.id);
  state.changes.touch(job.id);
}

// That there is a later one proves that it ended on all its nodes.
void end_former(State& state, Job& job) {
  for (PlacementRecord& record : job.attempts.back().placements) {
    if (record.stage != PlacementStage::kEnded) end_placement(state, job, record);
  }
  Attempt& attempt = job.attempts.back();
  attempt.ended_at = state.now;
  if (attempt.stop_reason == StopReason::kNone) attempt.stop_reason = StopReason::kRequeued;
  set_stage(state, attempt, Stage::kEnded);
}

void leave_queue(State& state, Job& job) {
  if (const auto promise = state.promises.find(job.id); promise != state.promises.end()) {
    for (const Placement& placement : promise->second.placements) {
      state.changes.touch(placement.node);
    }
    state.promises.erase(promise);
  }
  // What it depended on was met, or it would not run.
  if (job.eligible_at.us == 0) job.eligible_at = state.now;
  job.at_head = false;
  learn_leaves(state, job);
  count_waiting(state, job, -1);
  count_running(state, job, +1);
  job.phase = JobPhase::kActive;
}

}  // namespace

void fold_restored(State& state, const ClusterRestored& event) {
  // Each restore counts once; a record that comes twice changes nothing.
  if (event.incarnation <= state.incarnation) return;
  state.incarnation = event.incarnation;
  const Instant restored{restored_s(state.epoch) * 1'000'000};
  const auto away = static_cast<std::uint64_t>(seconds_between(state.now, restored));
  // The clock of the machine that restores may be behind the log.
  state.restored_at = std::max(state.now, restored);
  // Rounded up to thousands, so that people see where the gap is.
  const std::uint64_t beyond = state.next_job + kJobsAtOnce + kJobsPerSecond * away;
  state.next_job = (beyond + kJobsPerSecond - 1) / kJobsPerSecond * kJobsPerSecond + 1;
  for (Node& node : state.nodes) {
    if (node.removed || node.contact == Contact::kLost) continue;
    // As after a restart of the controller: every node gets its grace anew, as what ran there may
    // still run.
    set_contact(state, node, Contact::kSilent);
    node.awaited = true;
  }
  for (auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded) continue;
    // Nothing starts before all nodes have told what runs on them: it could be running twice.
    job.not_before = kNever;
    state.changes.touch(id);
  }
}

void node_settled(State& state) {
  if (state.incarnation == 0) return;
  // One that stays silent is waited for until it is lost.
  if (std::any_of(state.nodes.begin(), state.nodes.end(), is_awaited)) return;
  const ClusterSettings& settings = state.settings;
  // Even then: a task on a node that the backup does not know ends by its fence.
  const Instant from = state.now + settings.disconnect_grace + settings.fence;
  for (auto& [id, job] : state.jobs) {
    if (job.not_before != kNever) continue;
    job.not_before = from;
    state.changes.touch(id);
  }
}

bool adopts(const State& state, const UnknownTaskObserved& event) {
  const Job* job = state.find_job(event.job);
  const Node* node = state.find_node(event.node);
  if (job == nullptr || node == nullptr || node->removed) return false;
  if (!is_of_before(state, *job) || job->phase == JobPhase::kEnded) return false;
  // It is what a node first says after the restore that counts; later on one node's word must not
  // end a job elsewhere.
  // A number that could have been given before the backup's end is no proof of a later attempt.
  if (!node->awaited || event.attempt >= next_attempt(state, *job)) return false;
  // It is the first that is reported, or a later one than the backup knows.
  if (job->attempts.empty() || event.attempt > job->attempts.back().number) return true;
  const Attempt& last = job->attempts.back();
  if (event.attempt < last.number || job->phase != JobPhase::kActive) return false;
  const auto is_here = [&](const PlacementRecord& r) { return r.placement->node == event.node; };
  // Another node of a gang that was adopted.
  return !last.placements.empty() && is_adopted(last.placements.front().placement) &&
         std::none_of(last.placements.begin(), last.placements.end(), is_here);
}

void adopt(State& state, const UnknownTaskObserved& event) {
  if (!adopts(state, event)) return;
  Job& job = *state.find_job(event.job);
  if (!job.attempts.empty() && event.attempt == job.attempts.back().number) {
    return hold(state, job, event.node);
  }
  if (job.phase == JobPhase::kActive) {
    end_former(state, job);
    // It waited by the backup; in truth it had been started.
  } else {
    leave_queue(state, job);
  }
  Attempt attempt;
  attempt.number = event.attempt;
  attempt.allocated_at = job.submitted_at;  // it may have begun any time since
  set_stage(state, attempt, Stage::kStarting);
  job.attempts.push_back(std::move(attempt));
  hold(state, job, event.node);
}

AttemptNumber next_attempt(const State& state, const Job& job) {
  const AttemptNumber next = job.attempts.empty() ? 1 : job.attempts.back().number + 1;
  // Numbers that may have been given since the backup are left out: effects are keyed by attempt,
  // and must not meet an old one.
  if (!is_of_before(state, job)) return next;
  const std::int64_t given = seconds_between(job.submitted_at, state.restored_at) + kAttemptsBeside;
  return std::max(next, static_cast<AttemptNumber>(std::min<std::int64_t>(given, 1 << 30)));
}

std::optional<Instant> awaits_nodes_until(const State& state, const Job& job) {
  if (!is_of_before(state, job) || job.not_before <= state.now) return std::nullopt;
  if (job.not_before != kNever) return job.not_before;
  Instant until = state.now;
  for (const Node& node : state.nodes) {
    if (!is_awaited(node)) continue;
    const Agreed& agreed = node.agreed;
    until =
        std::max(until, node.contact_since +
                            std::max(agreed.disconnect_grace, agreed.outage_grace) + agreed.fence);
  }
  return until + state.settings.disconnect_grace + state.settings.fence;
}

bool is_adopted(const Placement& placement) {
  // What it holds is not known, so nothing is booked for it.
  return placement.cores.empty() && placement.devices.empty() && placement.memory_bytes == 0 &&
         placement.countables.empty();
}

}  // namespace dove::core
