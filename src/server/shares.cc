#include "server/shares.h"

#include <nlohmann/json.hpp>

#include "server/sync_plan.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kJobs_max = 20'000;

}  // namespace

ShareSaid read_share_said(const Json& item) {
  return {JobId(item.at("job").get<std::uint64_t>()), item.at("attempt").get<AttemptNumber>(),
          item.at("keeper").get<std::string>()};
}

void ShareBoard::take(const core::State& state, NodeId node, const ShareSaid& said) {
  const std::string& keeper = said.keeper;
  const bool is_known = keeper == "mps" || keeper == "library" || keeper == "nobody";
  if (!is_known || find_placement(state, said.job, said.attempt, node) == nullptr) return;
  Kept& kept = jobs_[said.job];
  if (said.attempt < kept.attempt) return;
  if (said.attempt > kept.attempt) kept = Kept{said.attempt, {}};
  kept.keepers[node] = keeper;
  if (jobs_.size() > kJobs_max) jobs_.erase(jobs_.begin());
}

void ShareBoard::show(const core::State& state, JobId job, Json& object) const {
  const auto found = jobs_.find(job);
  const core::Job* known = state.find_job(job);
  if (found == jobs_.end() || known == nullptr || known->attempts.empty() ||
      known->attempts.back().number != found->second.attempt) {
    return;
  }
  Json shares = Json::object();
  for (const auto& [node, keeper] : found->second.keepers) {
    const core::Node* at = state.find_node(node);
    if (at != nullptr) shares[at->name] = keeper;
  }
  object["shares"] = std::move(shares);
}

}  // namespace dove::server
