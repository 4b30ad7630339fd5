#include "core/plan/lent_plan.h"

#include "core/place/lent.h"

namespace dove::core {

std::optional<FreeBooks> lent_during(const State& state, const NodePlan& plan, const Node& node,
                                     const Claim& claim) {
  std::optional<FreeBooks> books = free_during(state, plan, node, claim);
  if (!books || claim.spec->executor.empty()) return books;
  const auto executor = state.executors.find(claim.spec->executor);
  if (executor == state.executors.end()) return books;
  std::optional<FreeBooks> lent = lent_books(executor->second, node, nullptr, books->view());
  return lent ? lent : books;
}

}  // namespace dove::core
