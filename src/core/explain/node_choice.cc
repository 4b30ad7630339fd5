#include "core/explain/node_choice.h"

#include "core/place/candidates.h"
#include "core/plan/wishes.h"

namespace dove::core {

NodeChoice::NodeChoice(const State& state, const JobSpec& spec)
    : state_(state),
      spec_(spec),
      chooses_(chooses_nodes(state, spec)),
      known_(chooses_ ? state.nodes.size() : 0) {}

bool NodeChoice::allows(NodeId node) {
  if (!chooses_) return true;
  std::optional<bool>& known = known_[node];
  if (!known) known = core::allows(spec_, state_.nodes[node]);
  return *known;
}

}  // namespace dove::core
