#include "core/state/executors/core_numbers.h"

#include <algorithm>

#include "core/state/node.h"

namespace dove::core {

std::int32_t threads_per_core(const Inventory& inventory) {
  return inventory.thread_order.empty() ? 1 : std::max(inventory.threads_per_core, 1);
}

CoreSet our_cores(const Node& node, const CoreSet& numbers) {
  return node.inventory == nullptr ? numbers : threads_of(*node.inventory, numbers);
}

bool gives_whole_cores(const Node& node) {
  // Nearly no node has a second executor.
  if (node.executors.empty() || node.inventory == nullptr) return false;
  return threads_per_core(*node.inventory) > 1;
}

CoreSet threads_of(const Inventory& inventory, const CoreSet& numbers) {
  if (inventory.thread_order.empty()) return numbers;
  const auto each = static_cast<std::size_t>(threads_per_core(inventory));
  CoreSet threads;
  for (const std::int32_t number : numbers) {
    const std::size_t first = static_cast<std::size_t>(number) * each;
    const std::size_t end = std::min(first + each, inventory.thread_order.size());
    for (std::size_t at = first; at < end; ++at) threads.insert(inventory.thread_order[at]);
  }
  return threads;
}

CoreSet core_numbers(const Inventory& inventory, const CoreSet& threads) {
  if (inventory.thread_order.empty()) return threads;
  const auto each = static_cast<std::size_t>(threads_per_core(inventory));
  CoreSet numbers;
  for (std::size_t at = 0; at < inventory.thread_order.size(); ++at) {
    if (!threads.contains(inventory.thread_order[at])) continue;
    numbers.insert(static_cast<std::int32_t>(at / each));
  }
  return numbers;
}

CoreSet with_siblings(const Inventory& inventory, const CoreSet& threads) {
  return threads_of(inventory, core_numbers(inventory, threads));
}

}  // namespace dove::core
