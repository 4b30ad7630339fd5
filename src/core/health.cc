#include "core/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/books.h"
#include "core/derived.h"
#include "core/fold.h"

namespace dove::core {
namespace {

// A warning only, but one more of it among other faults is a reason to look at the node.
constexpr std::string_view kHang_check = "rank_hang";

bool names_device(const Node& node, const Finding& finding) {
  return finding.device >= 0 &&
         static_cast<std::size_t>(finding.device) <
             (node.inventory == nullptr ? 0 : node.inventory->devices.size());
}

bool before(const Finding& a, const Finding& b) {
  return a.check != b.check ? a.check < b.check : a.device < b.device;
}

void note_fault(State& state, Node& node) {
  std::erase_if(node.faults,
                [&](Instant at) { return at + state.settings.lemon_window < state.now; });
  if (node.faults.size() >= kFaults_max) node.faults.erase(node.faults.begin());
  node.faults.push_back(state.now);
}

void books_changed(State& state, Node& node) {
  if (node.inventory != nullptr) rebuild_books(state, node);
  touch(state, node.id);
}

// The time of a step that half of the gang's nodes do not exceed; 0: fewer than three told one.
std::int64_t median_busy_us(const Attempt& attempt) {
  std::vector<std::int64_t> times;
  for (const PlacementRecord& record : attempt.placements) {
    if (record.stage == PlacementStage::kStarted && record.busy.us > 0) {
      times.push_back(record.busy.us);
    }
  }
  if (times.size() < 3) return 0;
  std::sort(times.begin(), times.end());
  return times[(times.size() - 1) / 2];
}

}  // namespace

bool closes_node(const Node& node, const Finding& finding) {
  return finding.severity >= Severity::kFault && !names_device(node, finding);
}

const Finding* closing_finding(const Node& node) {
  for (const OpenFinding& open : node.findings) {
    if (closes_node(node, open.finding)) return &open.finding;
  }
  return nullptr;
}

bool is_closed(const Node& node) { return closing_finding(node) != nullptr; }

bool is_device_closed(const Node& node, std::size_t device) {
  for (const OpenFinding& open : node.findings) {
    const Finding& finding = open.finding;
    if (finding.severity >= Severity::kFault && finding.device >= 0 &&
        static_cast<std::size_t>(finding.device) == device) {
      return true;
    }
  }
  return false;
}

std::string finding_text(const Finding& finding) {
  const std::string of = finding.device < 0 ? "" : fmt::format(" of device {}", finding.device);
  return fmt::format("{}{}: {}", finding.check, of, finding.evidence);
}

void open_finding(State& state, Node& node, const Finding& finding) {
  const auto at = std::lower_bound(
      node.findings.begin(), node.findings.end(), finding,
      [](const OpenFinding& open, const Finding& v) { return before(open.finding, v); });
  const bool known = at != node.findings.end() && !before(finding, at->finding);
  const bool was_fault = known && at->finding.severity >= Severity::kFault;
  const bool is_fault = finding.severity >= Severity::kFault;
  if (finding.severity == Severity::kGood) {
    if (!known) return;
    node.findings.erase(at);
  } else if (known) {
    at->finding = finding;
  } else {
    if (node.findings.size() >= kFindings_max) return;
    node.findings.insert(at, OpenFinding{finding, state.now});
  }
  const bool hung = !known && finding.check == kHang_check && finding.severity > Severity::kGood;
  if ((is_fault && !was_fault) || hung) note_fault(state, node);
  books_changed(state, node);
}

void close_findings(State& state, Node& node) {
  node.findings.clear();
  node.votes.clear();
  books_changed(state, node);
}

void vote(State& state, Node& node, NodeId peer) {
  const auto at = std::lower_bound(node.votes.begin(), node.votes.end(), peer,
                                   [](const LinkVote& vote, NodeId id) { return vote.peer < id; });
  if (at != node.votes.end() && at->peer == peer) {
    at->at = state.now;
  } else {
    node.votes.insert(at, LinkVote{peer, state.now});
  }
  std::erase_if(node.votes, [&](const LinkVote& one) {
    return one.at + state.settings.lemon_window < state.now;
  });
}

void fold_progress(State& state, Attempt& attempt, PlacementRecord& record,
                   const ProgressReported& report) {
  if (report.step > record.step || record.step_at.us == 0) record.step_at = state.now;
  record.step = std::max(record.step, report.step);
  record.busy = report.busy;
  const std::int64_t median = median_busy_us(attempt);
  const bool slow = median > 0 && report.busy.us * 100 >= median * kSlow_percent;
  record.slow_reports = slow ? record.slow_reports + 1 : 0;
  if (record.slow_reports != kSlow_reports) return;
  Finding finding{"slow", Severity::kWarning, Remedy::kNone, -1, ""};
  finding.evidence =
      fmt::format("its steps take {} ms, the gang's median is {} ms, {} times in a row",
                  report.busy.us / 1000, median / 1000, kSlow_reports);
  Node& node = *find(state, record.placement.node);
  note_fault(state, node);
  open_finding(state, node, finding);
}

}  // namespace dove::core
