#include "backends/native/warnings.h"

#include <nlohmann/json.hpp>

namespace dove::backends {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kPerNodeMax = 16;
constexpr std::size_t kTextMax = 1024;

}  // namespace

WarningsSaid read_warnings(const Json& item) {
  WarningsSaid said{
      JobId(item.at("job").get<std::uint64_t>()), item.at("attempt").get<AttemptNumber>(), {}};
  for (const Json& text : item.at("warnings")) {
    if (said.texts.size() == kPerNodeMax) break;
    said.texts.push_back(text.get<std::string>().substr(0, kTextMax));
  }
  return said;
}

void WarningBoard::take(const core::State& state, NodeId node, WarningsSaid said) {
  texts_.take(state, node, said.job, said.attempt, std::move(said.texts));
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
