#include "core/state/executors/given_cores.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/state/books.h"
#include "core/state/executors/placeholders.h"
#include "core/state/fold.h"

namespace dove::core {
namespace {

struct Held {
  Job* job = nullptr;
  Attempt* attempt = nullptr;
  PlacementRecord* record = nullptr;
};

// Nothing where the placement has ended.
Held held_on(State& state, JobId id, NodeId node) {
  Job* job = state.find_job(id);
  Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
  PlacementRecord* record = attempt == nullptr ? nullptr : find_placement(*attempt, node);
  if (record == nullptr || record->stage == PlacementStage::kEnded) return {};
  return {job, attempt, record};
}

bool may_move(const Held& held, const std::string& executor) {
  // What the executor runs is where it runs it, whatever we say.
  if (held.job->spec->executor == executor) return true;
  // The order to start tells the agent; without a barrier there is none.
  return held.attempt->has_barrier() && held.attempt->stage < Stage::kStarting;
}

// Whether some executor has said already what it holds for the placement.
bool is_settled(const State& state, const PlaceholderKey& but, const Held& held, NodeId node) {
  bool settled = false;
  each_placeholder(state, held.job->id, held.attempt->number,
                   [&](const PlaceholderKey& key, const Placeholder& placeholder) {
                     const bool counts = key.node == node && key != but;
                     settled |= counts && placeholder.stage == PlaceholderStage::kConfirmed;
                   });
  return settled;
}

// Two sets of one size that have nothing in common change places: the lowest with the lowest.
class Exchange {
 public:
  Exchange(const CoreSet& one, const CoreSet& other) {
    for (auto a = one.begin(), b = other.begin(); a != one.end(); ++a, ++b) {
      instead_[*a] = *b;
      instead_[*b] = *a;
    }
  }

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
};

// The others on the node whose cores can be exchanged, and the cores of all the rest.
struct Others {
  std::vector<Held> movable;
  CoreSet fixed;
};

Others others_on(State& state, const Node& node, const PlaceholderKey& own) {
  Others others;
  for (const JobId id : node.jobs) {
    if (id == own.job) continue;
    Held held = held_on(state, id, node.id);
    if (held.record == nullptr) continue;
    const PlaceholderKey key{id, held.attempt->number, node.id, own.executor};
    const bool waits = state.placeholders.contains(key) && !is_settled(state, {}, held, node.id);
    if (waits && may_move(held, own.executor)) {
      others.movable.push_back(held);
    } else {
      others.fixed |= held.record->placement->cores;
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

void take_given_cores(State& state, const PlaceholderKey& key, const CoreSet& given) {
  Node* node = state.find_node(key.node);
  if (node == nullptr || node->inventory == nullptr) return;
  Held own = held_on(state, key.job, key.node);
  if (own.record == nullptr || own.attempt->number != key.attempt) return;
  if (!may_move(own, key.executor) || is_settled(state, key, own, key.node)) return;
  const CoreSet granted = own.record->placement->cores;
  Others others = others_on(state, *node, key);
  // More than it was granted may be held (whole cores of several threads), and less (one that a
  // standing fence lends its core).
  CoreSet gained = without(given & cores_of(*node->inventory), granted);
  gained -= others.fixed;
  CoreSet left = without(granted, given);
  const std::size_t count = std::min(gained.size(), left.size());
  if (count == 0) return;
  gained = gained.first(count);
  left = left.first(count);
  // Cores get other names, as it were, for all that does not run there yet.
  const Exchange exchange(left, gained);
  own.record->placement = exchange.of(*own.record->placement);
  state.changes.touch(key.job);
  for (Held& other : others.movable) {
    if ((other.record->placement->cores & gained).empty()) continue;
    other.record->placement = exchange.of(*other.record->placement);
    state.changes.touch(other.job->id);
  }
  rebuild_books(state, *node);
  const CoreSet open = open_cores(*node);
  for (auto& [job, promise] : state.promises) {
    for (Placement& placement : promise.placements) {
      if (placement.node != key.node) continue;
      Placement moved = exchange.of(placement);
      if (open.contains(moved.cores)) placement = std::move(moved);
    }
  }
  state.changes.touch(node->id);
}

}  // namespace dove::core
