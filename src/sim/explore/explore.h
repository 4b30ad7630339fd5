// Explore: the whole control plane under virtual time and faults, FoundationDB's way.
//
// Real: core, policies, controller, API server, agents, their protocol, records and recovery. Not
// real: time, the network (Network), machines and their tasks (Machine), the disk under the log
// (FaultyLog), people (Clients). The Oracle holds what happened against what the system says. The
// same options give the same run. docs/decisions/0006-exploration.md.
#pragma once

#include <cstdint>
#include <string>

namespace dove::core {
struct Policies;
}
namespace dove::store {
class LogStore;
class LogKeeper;
}  // namespace dove::store

namespace dove::sim {

struct ExploreOptions {
  std::uint64_t seed = 1;
  std::int64_t days = 365;
  std::int32_t nodes = 100;
  std::int32_t gpus_per_node = 8;
  std::int32_t cores_per_node = 32;
  std::int32_t threads_per_core = 1;  // cores_per_node counts threads
  std::int64_t jobs_per_day = 1000;
  std::int64_t faults_percent = 100;  // of the usual number; 0: none but the published failures
  std::uint64_t check_every = 64;     // batches between two checks of all books
  // That share a log and its lease, where there are more than one. REQUIRES: outage_us == 0 then.
  std::int32_t controllers = 1;
  std::int32_t shared_nodes = 0;  // the number of nodes that a simulated Slurm schedules, too
  // No faults but one, in the times of a new cluster: after an hour, there is no controller for
  // this long; an hour later the run is over. 0: the faults above.
  std::int64_t outage_us = 0;
  const core::Policies* policies = nullptr;
  std::string directory;  // exists, is empty and fast; agents keep their records there
};

struct ExploreReport {
  std::string failure;  // "": none; what contradicted what, and when
  std::string trace;    // of a failure: the last that happened
  std::int64_t at_us = 0;
  std::uint64_t fingerprint = 0;  // over all that became durable
  std::uint64_t steps = 0;
  std::uint64_t jobs = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t completed = 0;
  std::uint64_t launches = 0;
  std::uint64_t tasks = 0;
  std::uint64_t batches = 0;
  std::uint64_t full_checks = 0;
  std::uint64_t controllers_killed = 0;
  std::uint64_t terms = 0;  // of several controllers, as are the next five
  std::uint64_t handed_over = 0;
  std::uint64_t stood_still = 0;
  std::uint64_t controllers_cut = 0;  // off the store or agents; single agents, too
  std::uint64_t store_failovers = 0;
  std::uint64_t appends_unanswered = 0;
  std::uint64_t agents_killed = 0;
  std::uint64_t machines_rebooted = 0;
  std::uint64_t machines_reinstalled = 0;  // with a new disk, so that the agent joins anew
  std::uint64_t links_cut = 0;
  std::uint64_t component_failures = 0;
  std::uint64_t foreign_jobs = 0;    // that the simulated Slurm began
  std::uint64_t gate_jobs = 0;       // that waited there for the ledger
  std::uint64_t steps_in_slurm = 0;  // placements of ours that it ran
  std::uint64_t steps_lost = 0;      // of which nobody there saw the end
  std::uint64_t rooms = 0;           // that ours made for those that wait without a gate
  std::uint64_t rooms_taken = 0;     // in which that job began
  std::uint64_t placeholders = 0;    // that it gave
  std::uint64_t lost_in_slurm = 0;   // jobs and placeholders, with their nodes
  std::uint64_t slurm_limits_met = 0;
  std::uint64_t put_back_in_slurm = 0;  // jobs that made room for ours
  std::uint64_t outage_tasks = 0;       // that ran when the controller went away
  std::uint64_t fenced_tasks = 0;       // that ended because their lease was over
  std::uint64_t lost_jobs = 0;
  std::uint64_t limits_met = 0;     // jobs that were stopped by their time limit
  std::int64_t limits_late_us = 0;  // the latest of them, after limit or controller's return
  std::uint64_t calls = 0;          // to jobs and nodes: cancel, hold, requeue, drain, and back
};

// The log is empty before. Takes telemetry's lines for
// its trace while it runs.
ExploreReport explore(store::LogStore& log, store::LogKeeper& keeper,
                      const ExploreOptions& options);

}  // namespace dove::sim
