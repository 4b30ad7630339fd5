#include "core/plan/lent_plan.h"

#include <algorithm>
#include <vector>

#include "core/place/lent.h"
#include "core/plan/foreign_holds.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

struct Part {
  Instant from;
  Instant to;
  LentHeld held;
};

LentHeld amounts(const CoreSet& cores, std::int64_t memory_bytes) {
  return {static_cast<std::int64_t>(cores.size()), memory_bytes};
}

// What the executor holds on the node at some time of the claim, for jobs of ours and for others.
std::vector<Part> parts_of(const State& state, const NodePlan& plan, const Node& node,
                           const Claim& claim) {
  const std::string& executor = claim.spec->executor;
  std::vector<Part> parts;
  for (const Hold& hold : plan.holds) {
    if (hold.foreign || !counts(hold, claim)) continue;
    if (state.find_job(hold.job)->spec->executor != executor) continue;
    parts.push_back(
        {hold.from, hold.to, amounts(hold.placement->cores, hold.placement->memory_bytes)});
  }
  // Not from the plan: what several of them hold is a hold of one of them there, and counts for
  // each here.
  const NodeExecutor* here = find_executor(node, executor);
  if (here == nullptr) return parts;
  for (const ForeignAllocation& one : here->foreign) {
    const Instant from = is_to_come(*here, one) ? one.started_at : state.now;
    const Instant to = foreign_end(state, one);
    if (from >= claim.to || to <= claim.from) continue;
    parts.push_back({from, to, amounts(one.cores, one.memory_bytes)});
  }
  return parts;
}

// The most that it holds at once.
LentHeld held_during(const State& state, const NodePlan& plan, const Node& node,
                     const Claim& claim) {
  const std::vector<Part> parts = parts_of(state, plan, node, claim);
  LentHeld most;
  // It comes to hold more where a part begins, and nowhere else.
  for (const Part& beginning : parts) {
    const Instant at = std::max(beginning.from, claim.from);
    LentHeld held;
    for (const Part& part : parts) {
      if (part.from > at || part.to <= at) continue;
      held.cores += part.held.cores;
      held.memory_bytes += part.held.memory_bytes;
    }
    most.cores = std::max(most.cores, held.cores);
    most.memory_bytes = std::max(most.memory_bytes, held.memory_bytes);
  }
  return most;
}

// The part of `free` that is lent to the job's executor; none: all of it.
std::optional<FreeBooks> lent_part(const State& state, const NodePlan& plan, const Node& node,
                                   const Claim& claim, const FreeView& free) {
  if (claim.spec->executor.empty()) return std::nullopt;
  const auto executor = state.executors.find(claim.spec->executor);
  if (executor == state.executors.end() || executor->second.lendable.empty()) return std::nullopt;
  const LentHeld held = held_during(state, plan, node, claim);
  return lent_books(executor->second, node, held, free);
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
