#include "backends/native/report_events.h"

#include <algorithm>

#include "codec/words.h"

namespace dove::backends {
namespace {

using MaybeEvent = std::optional<Event>;

bool is_known(const core::Node& node, const Finding& finding) {
  for (const core::OpenFinding& open : node.findings) {
    if (open.finding.check == finding.check && open.finding.device == finding.device) {
      return open.finding == finding;
    }
  }
  return finding.severity == Severity::kGood;
}

struct Reader {
  const core::State& state;
  const core::Node& node;

  MaybeEvent operator()(const protocol::Prepared& said) const {
    return PlacementPrepared{said.key.job, said.key.attempt, node.id};
  }
  MaybeEvent operator()(const protocol::Started& said) const {
    return PlacementStarted{said.key.job, said.key.attempt, node.id};
  }
  MaybeEvent operator()(const protocol::TaskOver& said) const {
    return TaskEnded{said.key.job, said.key.attempt, node.id, said.exit};
  }
  MaybeEvent operator()(const protocol::Ended& said) const {
    return PlacementEnded{
        said.key.job,           said.key.attempt,         node.id, said.exits, said.cpu_us,
        said.memory_peak_bytes, Span{said.started_ago_us}};
  }
  MaybeEvent operator()(const protocol::LaunchRefused& said) const {
    return LaunchFailed{said.key.job, said.key.attempt, node.id, said.why};
  }
  MaybeEvent operator()(const protocol::PreflightOver& said) const {
    const core::Node* peer = said.peer.empty() ? nullptr : state.find_node(said.peer);
    return PreflightFailed{said.key.job, said.key.attempt,
                           node.id,      peer == nullptr ? NodeId() : peer->id,
                           said.check,   said.evidence};
  }
  MaybeEvent operator()(const protocol::FindingSaid& said) const {
    if (is_known(node, said.finding)) return std::nullopt;
    return FindingReported{node.id, said.finding};
  }
  MaybeEvent operator()(const protocol::Tested& said) const {
    return NodeTested{node.id, said.passed, said.evidence};
  }
  // Nothing is known about a hook that names no remedy of ours.
  MaybeEvent operator()(const protocol::RemedyOver& said) const {
    const auto words = codec::remedies();
    const auto at = std::find(words.begin(), words.end(), said.remedy);
    if (at == words.end()) return std::nullopt;
    return RemedyEnded{node.id, static_cast<Remedy>(at - words.begin()), said.done, said.why};
  }
  // There is a newer order than one that was refused.
  MaybeEvent operator()(const protocol::OrderRefused&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::StepOver&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::StepTaskOver&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::Progress&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::Shares&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::Use&) const { return std::nullopt; }
  MaybeEvent operator()(const protocol::Warnings&) const { return std::nullopt; }
};

}  // namespace

std::optional<Event> event_of(const protocol::Report& report, const core::State& state,
                              const core::Node& node) {
  return std::visit(Reader{state, node}, report);
}

std::vector<protocol::AttemptKey> ended_in(const std::vector<protocol::Report>& reports) {
  std::vector<protocol::AttemptKey> ended;
  for (const protocol::Report& report : reports) {
    const bool is_end = std::holds_alternative<protocol::Ended>(report) ||
                        std::holds_alternative<protocol::LaunchRefused>(report);
    if (is_end) ended.push_back(*protocol::key_of(report));
  }
  return ended;
}

}  // namespace dove::backends
