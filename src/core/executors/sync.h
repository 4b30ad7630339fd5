// The exchange between an executor's adapter and the ledger: everything that the executor runs and
// holds, and everything that it is to hold.
//
// Each message is complete, so the next one makes up for a lost, late or repeated one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/executors/drains.h"
#include "core/executors/observation.h"
#include "core/executors/put_backs.h"
#include "core/state/state.h"
#include "model/event.h"
#include "model/executor.h"

namespace dove::core {

// What it tells that the ledger does not know. Nodes that are not the executor's are passed over;
// one that is declared to be, that has an inventory and that no agent has joined, is registered. A
// placeholder that was given other devices than its placement names counts as refused. One that is
// confirmed for a job that the executor runs prepares its placement; where it is gone and the
// executor says nothing of the work, the work is lost. A reservation becomes one of the ledger's,
// of the executor's nodes and for nobody, named as reservation_name() says.
std::vector<Event> news(const State& state, const Executor& executor, const Observation& said);

struct WantedPlaceholder {
  JobId job;
  AttemptNumber attempt = 0;
  const Node* node = nullptr;
  const Placement* placement = nullptr;
  Instant until = kNever;  // its placement has ended by then; kNever: nobody knows
  std::string id = {};     // by which the executor was last heard to hold it; "": it was not
};

// A placement of a job that the executor runs: from the decision to start or stop it until it has
// ended. One that is to stop may never have begun.
struct WantedWork {
  const Job* job = nullptr;
  AttemptNumber attempt = 0;
  const Node* node = nullptr;
  const Placement* placement = nullptr;
  bool has_started = false;
  bool stops = false;
  Instant stops_by = kNever;  // for its time, its deadline or the end of its reservation
};

// Whether nothing of the job's ends there by itself: its script runs, and on another node.
inline bool only_holds(const JobSpec& spec, const Placement& placement) {
  return spec.launch == LaunchMode::kBatch && spec.foreign_job.empty() && placement.node_rank > 0;
}

// Points into the state that it was made from.
struct Wanted {
  std::uint64_t version = 0;  // another number for each other content, and in each epoch; never 0
  // All that the executor is to hold now, ascending by job, attempt and node: what it holds beyond
  // that is to go.
  std::vector<WantedPlaceholder> placeholders;
  std::vector<WantedWork> works;    // ascending by node and job
  std::vector<WantedDrain> drains;  // what it has drained beyond that for us is to be open again
  // Its own jobs that are to run later, and what it is to give to none of them meanwhile.
  std::vector<WantedPutBack> put_backs = {};
  std::vector<KeptDevices> kept = {};
};
Wanted wanted(const State& state, const std::string& executor);

// Whether that version was given in this epoch: who has seen it observes after this controller
// began. What was observed before may have been on its way ever since.
bool is_of_this_epoch(const State& state, std::uint64_t version);

}  // namespace dove::core
