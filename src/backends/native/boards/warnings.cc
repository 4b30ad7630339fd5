#include "backends/native/boards/warnings.h"

#include <nlohmann/json.hpp>

namespace dove::backends {

using Json = nlohmann::json;

void WarningBoard::take(const core::State& state, NodeId node, const protocol::Warnings& said) {
  texts_.take(state, node, said.key.job, said.key.attempt, said.texts);
}

void WarningBoard::show(const core::State& state, JobId job, Json& object) const {
  Json& out = object["warnings"] = Json::array();
  const auto* said = texts_.of_last(state, job);
  if (said == nullptr) return;
  std::map<std::string, Json> nodes;  // by text
  for (const auto& [id, texts] : *said) {
    const core::Node* node = state.find_node(id);
    if (node == nullptr) continue;
    for (const std::string& text : texts) nodes[text].push_back(node->name);
  }
  for (auto& [text, names] : nodes) {
    out.push_back(Json{{"text", text}, {"nodes", std::move(names)}});
  }
}

}  // namespace dove::backends
