#include "core/place/lent.h"

#include <algorithm>

#include "core/state/cores.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "model/standing_fence.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

const Lendable* entry_for(const Executor& executor, const std::string& node) {
  // The first that names the node counts, as it is declared, so that exceptions can stand before
  // the rule.
  for (const Lendable& one : executor.lendable) {
    if (text::any_hostlist_holds(one.nodes, node)) return &one;
  }
  return nullptr;
}

// By the executor on the node, for others and for jobs that it runs.
LentHeld held_by(const Executor& executor, const Node& node, const IdMap<JobId, Job>* jobs) {
  LentHeld held;
  if (const NodeExecutor* here = find_executor(node, executor.name)) {
    // What it runs there for others counts as lent as well: the limit is on the executor, not on
    // our jobs.
    for (const ForeignAllocation& one : here->foreign) {
      held.cores += static_cast<std::int64_t>(one.cores.size());
      held.memory_bytes += one.memory_bytes;
    }
  }
  if (jobs == nullptr) return held;
  for (const JobId id : node.jobs) {
    const auto job = jobs->find(id);
    if (job == jobs->end() || job->second.spec->executor != executor.name) continue;
    // A search for victims puts jobs on nodes to which a place there is promised: they have not
    // begun, and may have no attempt yet.
    if (job->second.attempts.empty()) continue;
    for (const PlacementRecord& record : job->second.attempts.back().placements) {
      if (record.placement->node != node.id || record.stage == PlacementStage::kEnded) continue;
      held.cores += static_cast<std::int64_t>(record.placement->cores.size());
      held.memory_bytes += record.placement->memory_bytes;
    }
  }
  return held;
}

}  // namespace

bool is_lent(const Executor& executor, const std::string& node) {
  return executor.lendable.empty() || entry_for(executor, node) != nullptr;
}

const Lendable* lendable_on(const Executor& executor, const Node& node) {
  if (executor.lendable.empty()) return nullptr;
  // A list that does not name the node lends nothing of it.
  static const Lendable nothing{{}, {}, 0, 0};
  const Lendable* entry = entry_for(executor, node.name);
  return entry == nullptr ? &nothing : entry;
}

bool counts_held(const Lendable& lendable) {
  return lendable.cores > 0 || lendable.memory_bytes > 0;
}

FreeBooks lent_books(const Executor& executor, const Lendable& lendable, const Node& node,
                     const LentHeld& held, const FreeView& free) {
  FreeBooks books(free);
  auto& milli = books.devices.free_milli;
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < milli.size(); ++i) {
    // Devices by id, since the other scheduler gives them by index. Cores and memory are amounts.
    const bool lent = std::binary_search(lendable.devices.begin(), lendable.devices.end(),
                                         static_cast<std::int32_t>(i));
    if (lent) continue;
    milli[i] = 0;
    ++kept;
  }
  // What is free here is not all free there: each kept device has a fence, whether work of ours is
  // on it or not. It has some memory and no core.
  const std::int64_t fences = executor.placeholders ? kept : 0;
  const auto free_cores = static_cast<std::int64_t>(books.cores.size());
  const std::int64_t threads = node.inventory == nullptr ? 1 : threads_per_core(*node.inventory);
  std::int64_t cores = free_cores;
  if (lendable.cores >= 0) cores = std::min(cores, lendable.cores - held.cores);
  cores = std::max<std::int64_t>(cores, 0);
  if (books.whole_cores) cores -= cores % threads;
  if (cores < free_cores) {
    books.cores = first_cores(*books.inventory, books.cores, static_cast<std::size_t>(cores),
                              books.whole_cores ? Threads::kTogether : Threads::kAnywhere);
  }
  books.memory_bytes = std::max<std::int64_t>(books.memory_bytes - fences * kFence_memory_bytes, 0);
  if (lendable.memory_bytes >= 0) {
    books.memory_bytes = std::min(
        books.memory_bytes, std::max<std::int64_t>(lendable.memory_bytes - held.memory_bytes, 0));
  }
  return books;
}

std::optional<FreeBooks> lent_books(const Executor& executor, const Node& node,
                                    const IdMap<JobId, Job>* jobs, const FreeView& free) {
  // It may have all of its nodes: no copy of the books is made.
  const Lendable* lendable = lendable_on(executor, node);
  if (lendable == nullptr) return std::nullopt;
  const LentHeld held = counts_held(*lendable) ? held_by(executor, node, jobs) : LentHeld{};
  return lent_books(executor, *lendable, node, held, free);
}

}  // namespace dove::core
