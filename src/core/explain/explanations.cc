#include "core/explain/explanations.h"

#include <algorithm>

#include "core/explain/explain.h"
#include "core/explain/explain_index.h"

namespace dove::core {
namespace {

// With more changes than that to look at, the next answer makes the index anew.
constexpr std::size_t kNoted_min = 4096;

}  // namespace

Explanations::Explanations(State& state) : state_(state) { state_.changes.stop(); }
Explanations::~Explanations() = default;

ExplainIndex& Explanations::index(const Policies& policies) {
  Changes& changes = state_.changes;
  const bool is_kept = index_ != nullptr && changes.is_followed() &&
                       index_->policies().placement == policies.placement &&
                       index_->update(changes);
  if (!is_kept) index_ = std::make_unique<ExplainIndex>(state_, policies);
  changes.follow();
  return *index_;
}

std::vector<Reason> Explanations::explain(const Policies& policies, const Job& job) {
  return core::explain(index(policies), job);
}

OtherSets Explanations::other_sets(const Policies& policies, const Job& job) {
  return core::other_sets(index(policies), job);
}

void Explanations::forget_much() {
  const Changes& changes = state_.changes;
  if (!changes.is_followed()) return;
  const std::size_t noted = changes.jobs.size() + changes.nodes.size() +
                            changes.nodes_released.size() + changes.nodes_allocated.size();
  if (noted <= std::max(kNoted_min, state_.nodes.size())) return;
  state_.changes.stop();
  index_.reset();
}

}  // namespace dove::core
