#include "backends/native/sync_plan.h"

#include <algorithm>
#include <csignal>

#include "backends/native/restored_work.h"
#include "base/digest.h"
#include "core/nodes/contact.h"
#include "core/state/restored/restored.h"

namespace dove::backends {
namespace {

using core::PlacementStage;
using protocol::ActivePlacement;
using protocol::ActiveStage;

constexpr std::size_t kUnknownMax = 100;  // that are written down of one sync
const core::PlacementRecord kAdopted{{}, PlacementStage::kPrepared};

PlacementEnded ended_event(const ActivePlacement& reported, NodeId node) {
  return PlacementEnded{reported.key.job,
                        reported.key.attempt,
                        node,
                        reported.exits,
                        reported.cpu_us,
                        reported.memory_peak_bytes,
                        Span{reported.started_ago_us}};
}

void add_progress(const ActivePlacement& reported, const core::PlacementRecord& record, NodeId node,
                  std::vector<Event>& events) {
  switch (reported.stage) {
    case ActiveStage::kPrepared:
      if (record.stage == PlacementStage::kOrdered) {
        events.push_back(PlacementPrepared{reported.key.job, reported.key.attempt, node});
      }
      return;
    case ActiveStage::kStarted:
      if (record.stage != PlacementStage::kStarted) {
        events.push_back(PlacementStarted{reported.key.job, reported.key.attempt, node,
                                          Span{reported.started_ago_us}});
      }
      for (const TaskExit& exit : reported.exits) {
        events.push_back(TaskEnded{reported.key.job, reported.key.attempt, node, exit});
      }
      return;
    case ActiveStage::kEnded:
      if (reported.launch_failed.empty()) {
        events.push_back(ended_event(reported, node));
      } else {
        events.push_back(
            LaunchFailed{reported.key.job, reported.key.attempt, node, reported.launch_failed});
      }
      return;
  }
}

// The ledger had it running here, the agent, which sweeps what is left of tasks when it starts,
// holds nothing of it: it ended without a trace.
void add_vanished(const core::State& state, const core::Node& node, const protocol::Sync& message,
                  std::vector<Event>& events) {
  for (const JobId id : node.jobs) {
    const core::Job* job = state.find_job(id);
    if (job == nullptr || job->attempts.empty() || !job->spec->executor.empty()) continue;
    const core::Attempt& attempt = job->attempts.back();
    const core::PlacementRecord* record = find_placement(state, id, attempt.number, node.id);
    if (record == nullptr || record->stage == PlacementStage::kEnded ||
        record->stage == PlacementStage::kOrdered) {
      continue;
    }
    const bool is_reported = std::any_of(message.placements.begin(), message.placements.end(),
                                         [&](const ActivePlacement& placement) {
                                           return placement.key == AttemptKey{id, attempt.number};
                                         });
    if (is_reported) continue;
    PlacementEnded ended{id, attempt.number, node.id, {}, 0, 0};
    for (const TaskGrant& task : record->placement->tasks) {
      const bool told = std::any_of(attempt.exits.begin(), attempt.exits.end(),
                                    [&](const TaskExit& exit) { return exit.rank == task.rank; });
      if (!told) ended.exits.push_back(TaskExit{task.rank, 0, 9, "agent_lost_its_record"});
    }
    if (record->placement->tasks.empty()) {  // adopted, its ranks not known
      ended.exits.push_back(TaskExit{0, 0, 9, "agent_lost_its_record"});
    }
    events.push_back(std::move(ended));
  }
}

// What a machine that goes down ends by signals, as it ends every process, did not end by itself.
ActivePlacement told_after_boot(ActivePlacement reported) {
  for (TaskExit& exit : reported.exits) {
    const bool killed = exit.signal == SIGTERM || exit.signal == SIGKILL;
    if (killed && exit.cause.empty()) exit.cause = "machine_stopped";
  }
  return reported;
}

}  // namespace

const core::PlacementRecord* find_placement(const core::State& state, JobId job,
                                            AttemptNumber attempt, NodeId node) {
  const core::Job* found = state.find_job(job);
  if (found == nullptr || !found->spec->executor.empty()) return nullptr;
  for (const core::Attempt& each : found->attempts) {
    if (each.number != attempt) continue;
    for (const core::PlacementRecord& record : each.placements) {
      if (record.placement->node == node) return &record;
    }
  }
  return nullptr;
}

Inventory as_kept(const core::State& state, Inventory inventory) {
  constexpr std::int32_t kThreadsLevel = 2;
  if (state.level >= kThreadsLevel) return inventory;
  inventory.thread_order.clear();
  inventory.threads_per_core = 1;
  return inventory;
}

NodeRegistered registration(const core::Node& node, const protocol::Machine& machine) {
  return NodeRegistered{node.name,
                        machine.boot_id,
                        node.backend,
                        machine.address,
                        node.agent_token_sha256,
                        std::make_shared<const Inventory>(machine.inventory),
                        machine.machine_id,
                        machine.former_boot_id};
}

void add_inventory(const core::State& state, const core::Node& node, const Inventory& said,
                   std::vector<Event>& events) {
  protocol::Machine machine;
  machine.boot_id = node.boot_id;
  machine.address = node.address;
  machine.machine_id = node.machine_id;
  machine.inventory = as_kept(state, said);
  if (machine.inventory == *node.inventory) return;
  events.emplace_back(registration(node, machine));
}

std::vector<Event> sync_events(const core::State& state, const core::Node& node,
                               const protocol::Sync& message, bool proven) {
  std::vector<Event> events;
  const protocol::Machine& machine = message.machine;
  const bool same_life = machine.boot_id == node.boot_id;
  if (same_life) add_vanished(state, node, message, events);
  std::size_t unknown = 0;
  for (const ActivePlacement& reported : message.placements) {
    const core::PlacementRecord* record =
        find_placement(state, reported.key.job, reported.key.attempt, node.id);
    const bool active = record != nullptr && record->stage != PlacementStage::kEnded;
    if (active) {
      add_progress(same_life ? reported : told_after_boot(reported), *record, node.id, events);
    } else if (record == nullptr) {
      const UnknownTaskObserved seen{node.id, reported.key.job, reported.key.attempt};
      const bool is_known = core::adopts(state, seen);
      const bool told =
          !is_known && reported.stage != ActiveStage::kEnded && ++unknown <= kUnknownMax;
      if (told || (is_known && proven)) events.push_back(seen);
      if (is_known && proven) add_progress(reported, kAdopted, node.id, events);
    }
  }
  for (Event& event : work_findings(state, node, message, proven)) {
    events.push_back(std::move(event));
  }
  // After the reports: a new boot id ends what they are about.
  if (!same_life || machine.address != node.address || machine.machine_id != node.machine_id ||
      !(machine.inventory == *node.inventory)) {
    events.push_back(registration(node, machine));
  }
  events.push_back(NodeConnected{node.id, machine.boot_id, {}, message.preflight_port});
  return events;
}

Span waits_for(const core::State& state, const core::Node& node, const protocol::Machine& machine,
               Instant now) {
  const bool is_awaited = node.awaited && node.contact == Contact::kSilent && !node.removed &&
                          !core::is_expelled(node) && machine.boot_id == node.boot_id;
  // The answer to a sync may be lost: shorter terms than those that the agent has would count here,
  // and the longer ones there, where nothing but the break of its session limits them.
  const core::Agreed& terms = node.agreed;
  const bool are_shorter = state.settings.fence < terms.fence ||
                           state.settings.disconnect_grace < terms.disconnect_grace ||
                           state.settings.outage_grace < terms.outage_grace;
  if (!is_awaited || are_shorter) return {};
  const Span fence = node.agreed.fence.us > 0 ? node.agreed.fence : state.settings.fence;
  const Span left = core::lost_at(state, node) - now;
  return Span{std::max<std::int64_t>(left.us - fence.us - core::kFence_margin.us, 0)};
}

Leftovers leftovers(const core::State& state, NodeId node, const protocol::Sync& message) {
  Leftovers found;
  for (const ActivePlacement& reported : message.placements) {
    const core::PlacementRecord* record =
        find_placement(state, reported.key.job, reported.key.attempt, node);
    const bool active = record != nullptr && record->stage != PlacementStage::kEnded;
    if (active) continue;
    if (reported.stage == ActiveStage::kEnded) {
      found.forget.push_back(reported.key);
    } else if (record == nullptr && keeps_unknown(state, *state.find_node(node))) {
      found.kept.push_back(reported);
    } else {
      found.stop.push_back(reported.key);
    }
  }
  return found;
}

std::uint64_t placements_hash(const core::State& state, const core::Node& node,
                              const std::vector<ActivePlacement>& kept) {
  std::vector<std::pair<AttemptKey, bool>> all;  // whether it was started
  for (const ActivePlacement& reported : kept) {
    all.emplace_back(reported.key, reported.stage == ActiveStage::kStarted);
  }
  for (const JobId id : node.jobs) {
    const core::Job* job = state.find_job(id);
    if (job == nullptr) continue;
    for (const core::Attempt& attempt : job->attempts) {
      const core::PlacementRecord* record = find_placement(state, id, attempt.number, node.id);
      if (record == nullptr || record->stage == PlacementStage::kEnded) continue;
      all.emplace_back(AttemptKey{id, attempt.number}, record->stage == PlacementStage::kStarted);
    }
  }
  std::sort(all.begin(), all.end());
  Digest digest;
  for (const auto& [key, started] : all) {
    digest.add(key.job.value);
    digest.add(key.attempt);
    digest.add(started ? 2u : 1u);
  }
  return digest.value();
}

}  // namespace dove::backends
