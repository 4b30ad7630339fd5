// The exchange between an executor's adapter and the ledger: everything that the executor runs and
// holds, and everything that it is to hold.
//
// Each message is complete, so the next one makes up for a lost, late or repeated one. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/executors/drains.h"
#include "core/executors/put_backs.h"
#include "core/state/state.h"
#include "model/event.h"
#include "model/executor.h"

namespace dove::core {

struct SaidAllocation {
  std::string node;
  ForeignAllocation
      allocation;  // its cores by the executor's numbers (core/state/executors/core_numbers.h)
};

struct SaidPlaceholder {
  JobId job;
  AttemptNumber attempt = 0;
  std::string node;
  std::string id;                                     // in the executor
  PlaceholderStage stage = PlaceholderStage::kAsked;  // kAsked, kConfirmed, kRefused or kGone
  std::string why;
  std::vector<std::int32_t> devices;  // that it was given
  CoreSet cores = {};  // likewise, by the executor's numbers (core/state/executors/core_numbers.h);
                       // empty: not said
};

// Nodes that the executor keeps for some of its users, or for nobody, now or later.
struct SaidReservation {
  std::string name;
  std::vector<std::string> nodes;  // names or hostlists
  Instant starts_at;
  Instant ends_at;
};

struct SaidNode {
  std::string name;
  ExecutorNodeState state = ExecutorNodeState::kUp;
  std::string why;
  std::vector<std::string> features = {};  // ascending
  // What it has, of one where no agent of ours runs; null: one may.
  std::shared_ptr<const Inventory> inventory = {};
};

// A placement of a job that the executor runs. Nothing said of one: it has not begun, or the
// executor has not heard of it.
struct SaidWork {
  JobId job;
  AttemptNumber attempt = 0;
  std::string node;
  bool has_ended = false;
  std::vector<TaskExit> exits;  // of the tasks that are over
  std::int64_t cpu_us = 0;      // with `has_ended`, if they are known
  std::int64_t memory_peak_bytes = 0;
  std::string why;  // it could not begin, or ended otherwise than by its tasks
};

// What ended within a part of the time without watch that the answer named: all of it.
struct SaidPast {
  Instant gap;  // the end of that time
  Instant from;
  Instant until;
  std::vector<ForeignUse> uses;
};

// One observation. What is left out of a complete one is not there; of one that is not complete,
// because the executor did not answer, only what is in it counts.
struct Observation {
  bool complete = true;
  std::vector<SaidAllocation> allocations;
  std::vector<SaidPlaceholder> placeholders;
  std::vector<SaidNode> nodes;
  std::vector<SaidWork> works = {};
  std::vector<SaidReservation> reservations = {};
  bool begins = false;  // the first that this controller takes of this process of the adapter
  std::optional<SaidPast> past = {};
};

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

// The devices that the placement names, each once.
std::vector<std::int32_t> devices_of(const Placement& placement);

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
