#include "core/state/executors/given_cores.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/state/books.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/placeholders.h"
#include "core/state/fold.h"
#include "model/level.h"

namespace dove::core {
namespace {

struct ActivePlacement {
  Job* job = nullptr;
  Attempt* attempt = nullptr;
  PlacementRecord* record = nullptr;
};

// Nothing where the placement has ended.
ActivePlacement active_placement_on(State& state, JobId id, NodeId node) {
  Job* job = state.find_job(id);
  Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
  PlacementRecord* record = attempt == nullptr ? nullptr : find_placement(*attempt, node);
  if (record == nullptr || record->stage == PlacementStage::kEnded) return {};
  return {job, attempt, record};
}

bool may_move(const Job& job, const std::string& executor) {
  // What the executor runs is where it runs it, whatever we say.
  if (job.spec->executor == executor) return true;
  // The order to start tells the agent; without a barrier there is none.
  const Attempt& attempt = job.attempts.back();
  return attempt.has_barrier() && attempt.stage < Stage::kStarting;
}

// Whether some executor has said already what it holds for the placement.
bool is_settled(const State& state, const PlaceholderKey& but, const Job& job, NodeId node) {
  bool settled = false;
  each_placeholder(state, job.id, job.attempts.back().number,
                   [&](const PlaceholderKey& key, const Placeholder& placeholder) {
                     const bool counts = key.node == node && key != but;
                     settled |= counts && placeholder.stage == PlaceholderStage::kConfirmed;
                   });
  return settled;
}

// The cores of which all threads are in the set, each as its threads in order.
std::vector<std::vector<std::int32_t>> whole_cores(const Inventory& inventory, const CoreSet& set) {
  std::vector<std::vector<std::int32_t>> cores;
  if (inventory.thread_order.empty()) {
    for (const std::int32_t core : set) cores.push_back({core});
    return cores;
  }
  const auto each = static_cast<std::size_t>(threads_per_core(inventory));
  for (auto at = inventory.thread_order.begin(); at != inventory.thread_order.end();) {
    const std::vector<std::int32_t> threads(at, at + static_cast<std::ptrdiff_t>(each));
    if (set.contains(CoreSet(threads))) cores.push_back(threads);
    at += static_cast<std::ptrdiff_t>(each);
  }
  return cores;
}

// Whole cores change places, thread by thread: the first with the first, as many as there are on
// both sides. Halves of cores stay, as nobody else could be given the other half.
class Exchange {
 public:
  Exchange(const Inventory& inventory, const CoreSet& left, const CoreSet& gained) {
    const auto from = whole_cores(inventory, left);
    const auto to = whole_cores(inventory, gained);
    for (std::size_t core = 0; core < std::min(from.size(), to.size()); ++core) {
      for (std::size_t i = 0; i < from[core].size(); ++i) {
        instead_[from[core][i]] = to[core][i];
        instead_[to[core][i]] = from[core][i];
        gained_.insert(to[core][i]);
      }
    }
  }

  const CoreSet& gained() const { return gained_; }

  Placement of(Placement placement) const {
    placement.cores = of(placement.cores);
    for (TaskGrant& task : placement.tasks) task.cores = of(task.cores);
    return placement;
  }

 private:
  CoreSet of(const CoreSet& cores) const {
    CoreSet result;
    for (const std::int32_t core : cores) {
      const auto at = instead_.find(core);
      result.insert(at == instead_.end() ? core : at->second);
    }
    return result;
  }

  std::map<std::int32_t, std::int32_t> instead_;
  CoreSet gained_;
};

// Whether its placement on the node takes the cores that the executor gives it, which it has not
// said yet.
bool waits_for_cores(const State& state, const Job& job, NodeId node, const std::string& executor) {
  const PlaceholderKey key{job.id, job.attempts.back().number, node, executor};
  return state.placeholders.contains(key) && !is_settled(state, {}, job, node) &&
         may_move(job, executor);
}

// The others on the node whose cores can be exchanged, and the cores of all the rest.
struct Others {
  std::vector<ActivePlacement> movable;
  CoreSet fixed;
};

Others others_on(State& state, const Node& node, const PlaceholderKey& own) {
  Others others;
  for (const JobId id : node.jobs) {
    if (id == own.job) continue;
    ActivePlacement active = active_placement_on(state, id, node.id);
    if (active.record == nullptr) continue;
    if (waits_for_cores(state, *active.job, node.id, own.executor)) {
      others.movable.push_back(active);
    } else {
      others.fixed |= active.record->placement->cores;
    }
  }
  return others;
}

CoreSet cores_of(const Inventory& inventory) {
  CoreSet all;
  for (const NumaNode& numa : inventory.numa) all |= numa.cores;
  return all;
}

CoreSet without(CoreSet from, const CoreSet& these) {
  from -= these;
  return from;
}

}  // namespace

const Job* pinned_job(const State& state, const PlaceholderKey& key, const CoreSet& cores) {
  const PlacementRecord* own = placement_of(state, key);
  if (own == nullptr || cores.contains(own->placement->cores)) return nullptr;
  if (state.find_job(key.job)->attempts.back().stage >= Stage::kStarting) return nullptr;
  for (const JobId id : state.nodes[key.node].jobs) {
    const Job* const job = state.find_job(id);
    if (id == key.job || job == nullptr || job->phase != JobPhase::kActive) continue;
    if (waits_for_cores(state, *job, key.node, key.executor)) continue;
    for (const PlacementRecord& record : job->attempts.back().placements) {
      const bool is_here = record.placement->node == key.node;
      if (!is_here || record.stage == PlacementStage::kEnded) continue;
      if (record.placement->cores.size_with(cores) > 0) return job;
    }
  }
  return nullptr;
}

void take_given_cores(State& state, const PlaceholderKey& key, const CoreSet& given) {
  Node* node = state.find_node(key.node);
  if (node == nullptr || node->inventory == nullptr) return;
  ActivePlacement own = active_placement_on(state, key.job, key.node);
  if (own.record == nullptr || own.attempt->number != key.attempt) return;
  if (!may_move(*own.job, key.executor) || is_settled(state, key, *own.job, key.node)) return;
  const CoreSet granted = own.record->placement->cores;
  Others others = others_on(state, *node, key);
  // More than it was granted may be held: whole cores, for each task of its own.
  CoreSet gained = without(given & cores_of(*node->inventory), granted);
  gained -= others.fixed;
  // Half a core, granted before nodes gave whole ones, moves with its other half where nobody is
  // pinned to that one and it is not the system's.
  const CoreSet own_left = without(granted, given);
  CoreSet left = with_siblings(*node->inventory, own_left) & (usable_cores(*node) | own_left);
  left -= given;
  left -= others.fixed;
  // Cores get other names, as it were, for all that does not run there yet.
  const Exchange exchange(*node->inventory, left, gained);
  if (exchange.gained().empty()) return;
  own.record->placement = exchange.of(*own.record->placement);
  state.changes.touch(key.job);
  for (ActivePlacement& other : others.movable) {
    if ((other.record->placement->cores & exchange.gained()).empty()) continue;
    other.record->placement = exchange.of(*other.record->placement);
    state.changes.touch(other.job->id);
  }
  rebuild_books(state, *node);
  // Also where others hold the cores that become free, or the system does: what was promised would
  // be held by `own` else. Whether such a promise can be kept is for the next cycle to say. Former
  // programs, which fold a log of the first level, too, left such a promise as it was.
  const CoreSet open = open_cores(*node);
  for (auto& [job, promise] : state.promises) {
    for (Placement& placement : promise.placements) {
      if (placement.node != key.node) continue;
      Placement moved = exchange.of(placement);
      if (state.level > kFirstLevel || open.contains(moved.cores)) placement = std::move(moved);
    }
  }
  state.changes.touch(node->id);
}

}  // namespace dove::core
