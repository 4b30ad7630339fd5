// Fit: how many tasks of a group a node has room for, and which cores and devices they get.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place/device_fit.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// What is free on a node, to be looked at.
struct FreeView {
  const Inventory* inventory = nullptr;
  const CoreSet* cores = nullptr;
  std::span<const std::int32_t> devices_milli;
  std::span<const SlotSet> slots_taken;
  std::int64_t memory_bytes = 0;
  const std::vector<Countable>* countables = nullptr;
  bool whole_cores = false;  // see gives_whole_cores()

  DeviceView devices() const { return {*inventory, devices_milli, slots_taken, *cores}; }
};

// What is free on a node, to be worked on.
struct FreeBooks {
  const Inventory* inventory = nullptr;
  CoreSet cores;
  DeviceBooks devices;
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;
  bool whole_cores = false;

  explicit FreeBooks(const FreeView& free);
  explicit FreeBooks(const Node& node);
  FreeView view() const;
};

FreeView view_of(const Node& node);

// How many tasks of the group fit beside what the group asks per node: 0 to `most`.
std::int32_t capacity(const FreeView& free, const TaskGroup& group, const PlacementPolicy& policy,
                      std::int32_t most);

// What `tasks` tasks of the group on one node need at least.
NodeNeeds needs_of(const TaskGroup& group, std::int32_t tasks);

// Takes room for `tasks` tasks from `books` and adds what they get to `placement`.
// REQUIRES: capacity(books, ...) >= tasks.
void grant(FreeBooks& books, const TaskGroup& group, std::int32_t group_index, Rank first_rank,
           std::int32_t tasks, const PlacementPolicy& policy, Placement& placement);

// Adds what goes along with what was granted, when all groups have theirs. For an exclusive job
// that is all that is left of the node, seen by all its tasks, but for what is left of devices that
// are sliced; where cores are given whole, the free threads of the placement's cores, each to the
// tasks that are on its core.
void grant_along(FreeBooks& books, bool exclusive, Placement& placement);

}  // namespace dove::core
