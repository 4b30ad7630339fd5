#include "core/plan/foreign_holds.h"

#include <algorithm>
#include <set>

#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

// The latest end first: what two of them hold goes to that one.
std::vector<const ForeignAllocation*> by_end(const State& state, const Node& node) {
  std::vector<const ForeignAllocation*> all;
  each_foreign(node,
               [&](const NodeExecutor&, const ForeignAllocation& one) { all.push_back(&one); });
  std::stable_sort(all.begin(), all.end(), [&](const auto* one, const auto* other) {
    return foreign_end(state, *one) > foreign_end(state, *other);
  });
  return all;
}

}  // namespace

Instant foreign_end(const State& state, const ForeignAllocation& one) {
  return one.ends_by <= state.now ? kNever : one.ends_by;
}

bool has_foreign_ends(const Node& node) {
  return std::any_of(node.executors.begin(), node.executors.end(), [](const NodeExecutor& each) {
    return std::any_of(each.foreign.begin(), each.foreign.end(), [&](const ForeignAllocation& one) {
      return one.ends_by != kNever && !is_to_come(each, one);
    });
  });
}

void add_foreign_holds(const State& state, const Node& node, NodePlan& plan) {
  if (!has_foreign(node)) return;
  // What others hold, too.
  CoreSet cores;
  std::set<std::int32_t> devices;
  for (const Hold& hold : plan.holds) {
    cores |= hold.placement->cores;
    for (const DeviceGrant& grant : hold.placement->devices) devices.insert(grant.device);
  }
  const CoreSet usable = usable_cores(node);
  for (const ForeignAllocation* one : by_end(state, node)) {
    Placement held;
    held.node = node.id;
    held.cores = (one->cores & usable) - cores;
    for (const std::int32_t device : one->devices) {
      const auto index = static_cast<std::size_t>(device);
      const bool is_there = node.inventory != nullptr && index < node.inventory->devices.size();
      if (!devices.insert(device).second || !is_there || is_device_closed(node, index)) continue;
      held.devices.push_back({device});
    }
    held.memory_bytes = one->memory_bytes;
    cores |= one->cores;
    plan.foreign.emplace_back(std::move(held));
    Hold hold{JobId{}, &*plan.foreign.back(), state.now, foreign_end(state, *one)};
    hold.foreign = true;
    plan.holds.push_back(hold);
  }
}

void add_to_come(const State& state, const Node& node, NodePlan& plan) {
  const CoreSet usable = usable_cores(node);
  for (const NodeExecutor& executor : node.executors) {
    for (const ForeignAllocation& one : executor.foreign) {
      if (!is_to_come(executor, one) || one.ends_by <= state.now) continue;
      Placement kept;
      kept.node = node.id;
      kept.cores = one.cores & usable;
      plan.foreign.emplace_back(std::move(kept));
      Hold hold{JobId{}, &*plan.foreign.back(), std::max(one.started_at, state.now), one.ends_by};
      hold.promised = true;
      hold.foreign = true;
      add_hold(plan, hold);
    }
  }
}

ForeignParts lasting_foreign(const Node& node, Instant at) {
  ForeignParts held;
  each_foreign(node, [&](const NodeExecutor&, const ForeignAllocation& one) {
    if (one.ends_by <= at) return;
    held.cores |= one.cores;
    held.devices.insert(one.devices.begin(), one.devices.end());
  });
  return held;
}

void keep_open(const State& state, const Node& node, Instant from, FreeBooks& books) {
  if (node.declared.cores_reserved > 0) books.cores &= usable_cores(node);
  each_foreign(node, [&](const NodeExecutor&, const ForeignAllocation& one) {
    if (foreign_end(state, one) <= from) return;
    books.cores -= one.cores;
    for (const std::int32_t device : one.devices) {
      const auto index = static_cast<std::size_t>(device);
      if (index < books.devices.free_milli.size()) books.devices.free_milli[index] = 0;
    }
  });
}

}  // namespace dove::core
