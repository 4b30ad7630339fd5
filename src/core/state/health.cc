#include "core/state/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/state/books.h"

namespace dove::core {
namespace {

bool before(const Finding& a, const Finding& b) {
  return a.check != b.check ? a.check < b.check : a.device < b.device;
}

void note_fault(State& state, Node& node) {
  std::erase_if(node.faults,
                [&](Instant at) { return at + state.settings.lemon_window < state.now; });
  // A node that fails without end keeps the youngest faults only; more than that decides nothing.
  if (node.faults.size() >= kFaults_max) node.faults.erase(node.faults.begin());
  node.faults.push_back(state.now);
}

void books_changed(State& state, Node& node) {
  if (node.inventory != nullptr) rebuild_books(state, node);
  state.changes.touch(node.id);
}

Span pace_of(const Attempt& attempt) {
  std::vector<NodePace> nodes;
  for (const PlacementRecord& record : attempt.placements) {
    // A rank that has not yet finished a step would make the gang look fast or slow at random.
    if (record.stage != PlacementStage::kStarted || record.busy.us <= 0) continue;
    const Span typical = record.typical.us > 0 ? record.typical : record.busy;
    nodes.push_back({record.busy, typical, std::max(record.ranks, 1)});
  }
  return gang_pace(std::move(nodes));
}

// The one device of the slowest rank, when the other ranks of the node keep up; -1: the node.
std::int32_t slow_device(const State& state, const PlacementRecord& record, Span pace) {
  // All ranks are slow: that is the node (its CPU, its network), not one device.
  const bool others_keep_up = record.ranks > 1 && !is_slow(state, record.typical, pace);
  if (!others_keep_up) return -1;
  for (const TaskGrant& task : record.placement->tasks) {
    if (task.rank == record.slowest && task.devices.size() == 1) return task.devices[0].device;
  }
  return -1;
}

// Warnings come from jobs, so they close nothing; but people should look at the node.
void note_warning(State& state, Node& node, const std::string& what) {
  note_fault(state, node);
  // Not yet a lemon: one bad hour makes no bad node.
  if (!is_lemon(state, node)) return;
  open_finding(state, node,
               {std::string(kLemon_check), Severity::kWarning, Remedy::kReplace, -1,
                fmt::format("{} faults within {} h, the last: {}", node.faults.size(),
                            state.settings.lemon_window.us / 3'600'000'000, what)});
}

void end_slow(State& state, Node& node, const Placement& placement) {
  // On these devices only: another job's finding about another device stands.
  const auto is_here = [&](const OpenFinding& open) {
    const std::int32_t device = open.finding.device;
    return open.finding.check == kSlow_check &&
           (device < 0 || std::any_of(placement.devices.begin(), placement.devices.end(),
                                      [&](const DeviceGrant& g) { return g.device == device; }));
  };
  if (std::erase_if(node.findings, is_here) > 0) books_changed(state, node);
}

}  // namespace

void open_finding(State& state, Node& node, const Finding& finding) {
  const auto at = std::lower_bound(
      node.findings.begin(), node.findings.end(), finding,
      [](const OpenFinding& open, const Finding& v) { return before(open.finding, v); });
  const bool known = at != node.findings.end() && !before(finding, at->finding);
  const bool was_fault = known && at->finding.severity >= Severity::kFault;
  const bool is_fault = finding.severity >= Severity::kFault;
  // "Good" is how a check takes back what it found.
  if (finding.severity == Severity::kGood) {
    // Taken back without having been found: nothing has changed.
    if (!known) return;
    node.findings.erase(at);
  } else if (known) {
    // The same check on the same device: newer evidence, and the instant when it began stays.
    at->finding = finding;
  } else {
    // Bounded, as agents are not trusted to be sensible.
    if (node.findings.size() >= kFindings_max) return;
    node.findings.insert(at, OpenFinding{finding, state.now});
  }
  // When it turns into a fault, not each time that it is reported.
  if (is_fault && !was_fault) note_fault(state, node);
  books_changed(state, node);
  const bool hung = finding.check == kRankHang_check && finding.severity > Severity::kGood;
  if (hung && !known) note_warning(state, node, finding_text(finding));
}

void close_findings(State& state, Node& node) {
  // Votes too: the tests asked the links anew.
  node.findings.clear();
  node.votes.clear();
  books_changed(state, node);
}

void vote(State& state, Node& node, NodeId peer, JobId job) {
  const auto at = std::lower_bound(node.votes.begin(), node.votes.end(), peer,
                                   [](const LinkVote& vote, NodeId id) { return vote.peer < id; });
  if (at != node.votes.end() && at->peer == peer) {
    // One vote a peer: an impatient one counts no more than the others.
    *at = LinkVote{peer, state.now, job};
  } else {
    node.votes.insert(at, LinkVote{peer, state.now, job});
  }
  // Old votes say nothing about now.
  std::erase_if(node.votes, [&](const LinkVote& one) {
    return one.at + state.settings.lemon_window < state.now;
  });
  state.changes.touch(node.id);
}

void vote_on_link(State& state, NodeId a, NodeId b, JobId job) {
  vote(state, *state.find_node(a), b, job);
  vote(state, *state.find_node(b), a, job);
}

void fold_progress(State& state, Attempt& attempt, PlacementRecord& record,
                   const ProgressReported& report) {
  // A report may come late and name an earlier step. The step only ever rises, or a hang would
  // seem to be over.
  if (report.step > record.step || record.step_at.us == 0) record.step_at = state.now;
  record.step = std::max(record.step, report.step);
  record.busy = report.busy;
  record.slowest = report.slowest;
  record.ranks = report.ranks;
  record.typical = report.typical;
  const Span pace = pace_of(attempt);
  const bool slow = is_slow(state, report.busy, pace);
  // In a row: one slow checkpoint in between starts the count again.
  record.slow_reports = slow ? record.slow_reports + 1 : 0;
  Node& node = *state.find_node(record.placement->node);
  // Without a pace nobody can be slow, nor shown to be well.
  if (!slow && pace.us > 0) end_slow(state, node, record.placement);
  // Equal, so it is reported once, not at every report that follows.
  if (record.slow_reports != state.settings.slow_reports) return;
  const std::int32_t device = slow_device(state, record, pace);
  const Finding finding{
      std::string(kSlow_check), Severity::kWarning, Remedy::kNone, device,
      fmt::format("job {}: steps of rank {} take {} ms, the gang's median is {} ms, {} times in a "
                  "row",
                  report.job.value, report.slowest, report.busy.us / 1000, pace.us / 1000,
                  record.slow_reports)};
  open_finding(state, node, finding);
  // One warning for each placement, however often it slows down and recovers.
  if (!std::exchange(record.slow_noted, true)) note_warning(state, node, finding_text(finding));
}

}  // namespace dove::core
