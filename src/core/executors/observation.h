// What an executor's adapter reports: everything that its scheduler runs and holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/state/state.h"
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

}  // namespace dove::core
