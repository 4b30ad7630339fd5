#include "backends/native/node_reports.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json_health.h"
#include "codec/words.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;
using Read = Result<std::optional<Event>>;

constexpr std::size_t kText_bytes = 1024;

bool is_known(const core::Node& node, const Finding& finding) {
  for (const core::OpenFinding& open : node.findings) {
    if (open.finding.check == finding.check && open.finding.device == finding.device) {
      return open.finding == finding;
    }
  }
  return finding.severity == Severity::kGood;
}

}  // namespace

bool is_node_report(const std::string& kind) {
  return kind == "finding" || kind == "tested" || kind == "remedy_ended";
}

Event read_preflight_failure(const Json& item, const core::State& state, NodeId node) {
  const auto peer_name = item.value("peer", "");
  const core::Node* peer = peer_name.empty() ? nullptr : state.find_node(peer_name);
  return PreflightFailed{JobId(item.at("job").get<std::uint64_t>()),
                         item.at("attempt").get<AttemptNumber>(),
                         node,
                         peer == nullptr ? NodeId() : peer->id,
                         item.at("check").get<std::string>().substr(0, 64),
                         item.value("evidence", "").substr(0, kText_bytes)};
}

Read read_node_report(const Json& item, const core::Node& node) {
  const auto kind = item.at("kind").get<std::string>();
  if (kind == "finding") {
    TRY_ASSIGN(Finding finding, codec::read_finding(item));
    if (is_known(node, finding)) return std::optional<Event>();
    return std::optional<Event>(FindingReported{node.id, std::move(finding)});
  }
  if (kind == "tested") {
    return std::optional<Event>(NodeTested{node.id, item.at("passed").get<bool>(),
                                           item.value("evidence", "").substr(0, kText_bytes)});
  }
  const auto words = codec::remedies();
  const auto at = std::find(words.begin(), words.end(), item.at("remedy").get<std::string>());
  if (at == words.end()) return std::optional<Event>();
  return std::optional<Event>(RemedyEnded{node.id, static_cast<Remedy>(at - words.begin()),
                                          item.at("done").get<bool>(),
                                          item.value("why", "").substr(0, kText_bytes)});
}

}  // namespace dove::backends
