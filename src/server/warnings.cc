#include "server/warnings.h"

#include <nlohmann/json.hpp>

#include "server/sync_plan.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kJobsMax = 10'000;
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
  if (find_placement(state, said.job, said.attempt, node) == nullptr) return;
  const auto [found, is_new] = jobs_.try_emplace(said.job);
  if (is_new) order_.push_back(said.job);
  Said& known = found->second;
  if (known.attempt != said.attempt) known = {said.attempt, {}};
  known.by_node[node] = std::move(said.texts);
  for (; order_.size() > kJobsMax; order_.pop_front()) jobs_.erase(order_.front());
}

void WarningBoard::show(const core::State& state, JobId job, Json& object) const {
  Json& out = object["warnings"] = Json::array();
  const auto found = jobs_.find(job);
  const core::Job* known = state.find_job(job);
  if (found == jobs_.end() || known == nullptr) return;
  if (known->attempts.empty() || known->attempts.back().number != found->second.attempt) return;
  std::map<std::string, Json> nodes;  // by text
  for (const auto& [id, texts] : found->second.by_node) {
    const core::Node* node = state.find_node(id);
    if (node == nullptr) continue;
    for (const std::string& text : texts) nodes[text].push_back(node->name);
  }
  for (auto& [text, names] : nodes) {
    out.push_back(Json{{"text", text}, {"nodes", std::move(names)}});
  }
}

}  // namespace dove::server
