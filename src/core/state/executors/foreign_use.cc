#include "core/state/executors/foreign_use.h"

#include "core/state/amount.h"
#include "core/state/holders/month_use.h"
#include "core/state/past/past_use.h"

namespace dove::core {
namespace {

void add(std::map<std::string, std::int64_t>& to, const std::vector<Countable>& from, int sign) {
  for (const Countable& one : from) {
    auto [at, added] = to.try_emplace(one.name, 0);
    at->second += sign * one.amount;
    // Zeros are erased, as in the fold of jobs: a state that was left and entered again is equal to
    // one that never was.
    if (at->second == 0) to.erase(at);
  }
}

Amount kinds_of(const Node& node, const ForeignAllocation& allocation) {
  Placement held;
  // As if it were a placement of ours with whole devices, so that models are counted by the same
  // code.
  for (const std::int32_t device : allocation.devices) held.devices.push_back({device});
  Amount kinds;
  add_kinds(*node.inventory, held, kinds);
  return kinds;
}

}  // namespace

const std::string* queue_of(const State& state, const std::string& executor,
                            const std::string& account) {
  const auto declared = state.executors.find(executor);
  if (declared == state.executors.end()) return nullptr;
  // An account without a queue counts towards nobody: it is seen, and limits nothing.
  const auto queue = declared->second.queues.find(account);
  return queue == declared->second.queues.end() || queue->second.empty() ? nullptr : &queue->second;
}

void add_foreign_use(const State& state, const Node& node, const ForeignAllocation& allocation,
                     Usage& usage, int sign) {
  usage.cores += sign * static_cast<std::int64_t>(allocation.cores.size());
  usage.gpus_milli +=
      sign * static_cast<std::int64_t>(allocation.devices.size()) * kWholeDevice_milli;
  usage.memory_bytes += sign * allocation.memory_bytes;
  if (!state.counts_models || node.inventory == nullptr) return;
  const Amount kinds = kinds_of(node, allocation);
  add(usage.countables, kinds.countables, sign);
  add(usage.gpus_by_model, kinds.gpus_by_model, sign);
}

void count_foreign(State& state, const Node& node, const std::string& executor,
                   const ForeignAllocation& allocation, int sign) {
  const std::string* queue = queue_of(state, executor, allocation.account);
  if (queue == nullptr) return;
  // Use is charged before it changes, at the level that it had up to now.
  for_each_queue(state, *queue, [&](const std::string& name) {
    Usage& usage = state.usage_by_queue[name];
    charge(state.past_by_queue[name], usage, state.settings.fair_share_half_life, state.now);
    const auto declared = state.queues.find(name);
    if (declared != state.queues.end() && has_month(declared->second.limits)) {
      charge_month(month_from_now(state.month_by_queue, name, state.now), usage, state.now);
    }
    add_foreign_use(state, node, allocation, usage, sign);
  });
  state.changes.note_declared();  // the order of queues depends on it
}

// Taken off before a declaration changes, and put back after: what accounts stand for may be
// another queue then.
void count_all_foreign(State& state, const std::string& executor, int sign) {
  for (const Node& node : state.nodes) {
    for (const NodeExecutor& each : node.executors) {
      if (each.name != executor) continue;
      for (const ForeignAllocation& one : each.foreign) {
        count_foreign(state, node, executor, one, sign);
      }
    }
  }
}

void count_all_foreign(State& state, int sign) {
  for (const auto& [name, executor] : state.executors) count_all_foreign(state, name, sign);
}

}  // namespace dove::core
