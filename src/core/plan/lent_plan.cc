#include "core/plan/lent_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "core/place/lent.h"
#include "core/plan/foreign_holds.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

// From then on the executor holds that much more, or less.
struct Change {
  Instant at;
  LentHeld by;
};

LentHeld amounts(const CoreSet& cores, std::int64_t memory_bytes) {
  return {static_cast<std::int64_t>(cores.size()), memory_bytes};
}

// All that it holds on the node at some time of the claim, for jobs of ours and for others.
class Sum {
 public:
  explicit Sum(const Claim& claim) : claim_(claim) {}

  void add(Instant from, Instant to, const LentHeld& held) {
    if (from >= claim_.to || to <= claim_.from) return;
    changes_.push_back({std::max(from, claim_.from), held});
    changes_.push_back({to, {-held.cores, -held.memory_bytes}});
  }

  // The most that it holds at once.
  LentHeld most() && {
    // What ends at an instant is not held any more when something else begins then.
    const auto key = [](const Change& one) {
      return std::tuple(one.at, one.by.cores, one.by.memory_bytes);
    };
    std::sort(changes_.begin(), changes_.end(),
              [&](const Change& a, const Change& b) { return key(a) < key(b); });
    LentHeld held, most;
    for (const Change& change : changes_) {
      held.cores += change.by.cores;
      held.memory_bytes += change.by.memory_bytes;
      most.cores = std::max(most.cores, held.cores);
      most.memory_bytes = std::max(most.memory_bytes, held.memory_bytes);
    }
    return most;
  }

 private:
  const Claim& claim_;
  std::vector<Change> changes_;
};

LentHeld held_during(const State& state, const NodePlan& plan, const Node& node,
                     const Claim& claim) {
  const std::string& executor = claim.spec->executor;
  Sum sum(claim);
  for (const Hold& hold : plan.holds) {
    if (hold.foreign || !counts(hold, claim)) continue;
    if (state.find_job(hold.job)->spec->executor != executor) continue;
    sum.add(hold.from, hold.to, amounts(hold.placement->cores, hold.placement->memory_bytes));
  }
  // Not from the plan: what several of them hold is a hold of one of them there, and counts for
  // each here.
  if (const NodeExecutor* here = find_executor(node, executor)) {
    for (const ForeignAllocation& one : here->foreign) {
      const Instant from = is_to_come(*here, one) ? one.started_at : state.now;
      sum.add(from, foreign_end(state, one), amounts(one.cores, one.memory_bytes));
    }
  }
  return std::move(sum).most();
}

// The part of `free` that is lent to the job's executor; none: all of it.
std::optional<FreeBooks> lent_part(const State& state, const NodePlan& plan, const Node& node,
                                   const Claim& claim, const FreeView& free) {
  if (claim.spec->executor.empty()) return std::nullopt;
  const auto executor = state.executors.find(claim.spec->executor);
  if (executor == state.executors.end()) return std::nullopt;
  const Lendable* lendable = lendable_on(executor->second, node);
  if (lendable == nullptr) return std::nullopt;
  const LentHeld held = counts_held(*lendable) ? held_during(state, plan, node, claim) : LentHeld{};
  return lent_books(executor->second, *lendable, node, held, free);
}

}  // namespace

std::optional<FreeBooks> lent_during(const State& state, const NodePlan& plan, const Node& node,
                                     const Claim& claim) {
  std::optional<FreeBooks> books = free_during(state, plan, node, claim);
  if (!books) return books;
  std::optional<FreeBooks> lent = lent_part(state, plan, node, claim, books->view());
  return lent ? lent : books;
}

bool fits_during(const State& state, const NodePlan& plan, const Node& node, const Claim& claim,
                 const Placement& placement) {
  std::optional<FreeBooks> books = free_during(state, plan, node, claim);
  if (!books || !holds_all(*books, placement)) return false;
  std::optional<FreeBooks> lent = lent_part(state, plan, node, claim, books->view());
  if (!lent) return true;
  // Cores are lent as an amount. The books of that name the first that are free, and which those
  // are changes with what else is free.
  if (lent->cores.size() < placement.cores.size()) return false;
  lent->cores = books->cores;
  return holds_all(*lent, placement);
}

}  // namespace dove::core
