// What an executor's adapter and the ledger tell each other: all that the executor runs and holds,
// and all that it is to hold.
//
// Each says everything, each time: what is lost, late or doubled is made good by the next. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/executors/drains.h"
#include "core/state/state.h"
#include "model/event.h"
#include "model/executor.h"

namespace dove::core {

struct SaidAllocation {
  std::string node;
  ForeignAllocation allocation;
};

struct SaidPlaceholder {
  JobId job;
  AttemptNumber attempt = 0;
  std::string node;
  std::string id;                                     // in the executor
  PlaceholderStage stage = PlaceholderStage::kAsked;  // kAsked, kConfirmed, kRefused or kGone
  std::string why;
  std::vector<std::int32_t> devices;  // that it was given
};

struct SaidNode {
  std::string name;
  ExecutorNodeState state = ExecutorNodeState::kUp;
  std::string why;
};

// One observation. What is left out of a complete one is not there; of one that is not complete,
// because the executor did not answer, only what is in it counts.
struct Observation {
  bool complete = true;
  std::vector<SaidAllocation> allocations;
  std::vector<SaidPlaceholder> placeholders;
  std::vector<SaidNode> nodes;
};

// What it tells that the ledger does not know. Nodes that are not the executor's are passed over. A
// placeholder that was given other devices than its placement names counts as refused.
std::vector<Event> news(const State& state, const Executor& executor, const Observation& said);

struct WantedPlaceholder {
  JobId job;
  AttemptNumber attempt = 0;
  const Node* node = nullptr;
  const Placement* placement = nullptr;
  Instant until = kNever;  // its placement has ended by then; kNever: nobody knows
};

// The devices that the placement names, each once.
std::vector<std::int32_t> devices_of(const Placement& placement);

// Points into the state that it was made from.
struct Wanted {
  std::uint64_t version = 0;  // another number for each other content, and in each epoch; never 0
  // All that the executor is to hold now, ascending by job, attempt and node: what it holds beyond
  // that is to go.
  std::vector<WantedPlaceholder> placeholders;
  std::vector<WantedDrain> drains;  // what it has drained beyond that for us is to be open again
};
Wanted wanted(const State& state, const std::string& executor);

// Whether that version was given in this epoch: who has seen it observes after this controller
// began. What was observed before may have been on its way ever since.
bool is_of_this_epoch(const State& state, std::uint64_t version);

}  // namespace dove::core
