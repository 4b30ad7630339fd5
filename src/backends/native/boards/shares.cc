#include "backends/native/boards/shares.h"

#include <nlohmann/json.hpp>

namespace dove::backends {

using Json = nlohmann::json;

void ShareBoard::take(const core::State& state, NodeId node, const protocol::Shares& said) {
  const std::string& keeper = said.keeper;
  if (keeper != "mps" && keeper != "library" && keeper != "nobody") return;
  keepers_.take(state, node, said.key.job, said.key.attempt, keeper);
}

void ShareBoard::show(const core::State& state, JobId job, Json& object) const {
  const auto* keepers = keepers_.of_last(state, job);
  if (keepers == nullptr) return;
  Json shares = Json::object();
  for (const auto& [node, keeper] : *keepers) {
    const core::Node* at = state.find_node(node);
    if (at != nullptr) shares[at->name] = keeper;
  }
  object["shares"] = std::move(shares);
}

}  // namespace dove::backends
