#include "backends/native/restored_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/native/sync_plan.h"
#include "core/state/restored/restored.h"

namespace dove::backends {
namespace {

constexpr std::size_t kNamed = 20;  // of the attempts of a finding

const Finding* open_finding(const core::Node& node, std::string_view check) {
  for (const core::OpenFinding& open : node.findings) {
    if (open.finding.check == check) return &open.finding;
  }
  return nullptr;
}

std::string names_of(const std::vector<AttemptKey>& keys) {
  std::string text;
  for (std::size_t i = 0; i < std::min(keys.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + keys[i].text();
  }
  if (keys.size() > kNamed) text += fmt::format(", and {} more", keys.size() - kNamed);
  return text;
}

void tell(const core::Node& node, Finding finding, bool is_there, std::vector<Event>& events) {
  const Finding* open = open_finding(node, finding.check);
  if (!is_there && open == nullptr) return;
  if (!is_there) finding.severity = Severity::kGood;
  // Released: it stays so until nothing is left.
  if (is_there && open != nullptr && open->severity < finding.severity) return;
  if (open != nullptr && *open == finding) return;
  events.push_back(FindingReported{node.id, std::move(finding)});
}

}  // namespace

std::vector<Event> work_findings(const core::State& state, const core::Node& node,
                                 const protocol::Sync& message, bool proven) {
  std::vector<Event> events;
  if (state.incarnation == 0) return events;
  std::vector<AttemptKey> unknown;
  std::vector<AttemptKey> adopted;
  for (const protocol::ActivePlacement& reported : message.placements) {
    if (reported.stage == protocol::ActiveStage::kEnded) continue;
    const auto [job, attempt] = reported.key;
    const core::PlacementRecord* record = find_placement(state, job, attempt, node.id);
    if (record == nullptr) {
      const bool known = proven && core::adopts(state, {node.id, job, attempt});
      (known ? adopted : unknown).push_back(reported.key);
    } else if (record->stage != core::PlacementStage::kEnded &&
               core::is_adopted(record->placement)) {
      adopted.push_back(reported.key);
    }
  }
  tell(node,
       {kAdoptedWork_check, Severity::kFault, Remedy::kNone, -1,
        fmt::format("{} began after the record that the log was restored to: what they hold here "
                    "is not known, and nothing is placed beside them until they have ended",
                    names_of(adopted))},
       !adopted.empty(), events);
  tell(node,
       {core::kUnknownWork_check, Severity::kFault, Remedy::kNone, -1,
        fmt::format("{} belong to no job that the restored log knows; they go on, and nothing is "
                    "placed beside them; to stop them: dove node release-unknown {}",
                    names_of(unknown), node.name)},
       !unknown.empty(), events);
  return events;
}

bool keeps_unknown(const core::State& state, const core::Node& node) {
  const Finding* open = open_finding(node, core::kUnknownWork_check);
  return state.incarnation > 0 && open != nullptr && open->severity >= Severity::kFault;
}

bool wants_resync(const core::State& state, const core::Node& node, bool something_ended,
                  bool holds_unknown) {
  if (state.incarnation == 0) return false;
  const bool tells = open_finding(node, core::kUnknownWork_check) != nullptr ||
                     open_finding(node, kAdoptedWork_check) != nullptr;
  return (something_ended && tells) || (holds_unknown && !keeps_unknown(state, node));
}

}  // namespace dove::backends
