#include "core/state/running/hang.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state/findings.h"
#include "core/state/health.h"

namespace dove::core {
namespace {

Finding finding_of(JobId job, const Hang& hang) {
  return {std::string(hang.is_one ? kRankHang_check : kGangHang_check), Severity::kWarning,
          Remedy::kNone, -1, hang_text(job, hang)};
}

}  // namespace

std::string hang_text(JobId job, const Hang& hang) {
  const std::int64_t silent_s = hang.silent.us / 1'000'000;
  if (!hang.is_one) {
    return fmt::format("job {}: all {} ranks are silent at step {} for {} s", job.value, hang.ranks,
                       hang.step, silent_s);
  }
  return fmt::format("job {}: rank {} is silent at step {} for {} s, the other {} wait for it",
                     job.value, hang.rank, hang.step, silent_s, hang.ranks - 1);
}

void fold_hang(State& state, const Job& job, const HangObserved& event) {
  // Only tasks that run can fall silent; a report may come after the stop.
  if (job.attempts.back().stage != Stage::kRunning || event.silent.us <= 0) return;
  // One hang for each job: a newer one replaces the former, and its finding.
  end_hang(state, job.id);
  const Hang& hang = state.hangs[job.id] = {event.attempt, event.node, event.is_one, event.rank,
                                            event.ranks,   event.step, event.silent, state.now};
  open_finding(state, *state.find_node(hang.node), finding_of(job.id, hang));
}

// When two jobs of a node hang, the finding names the last one, then the other.
void end_hang(State& state, JobId job) {
  const auto at = state.hangs.find(job);
  if (at == state.hangs.end()) return;
  const Hang over = at->second;
  state.hangs.erase(at);
  Node& node = *state.find_node(over.node);
  // A finding is known by its check, so "good" for one job would take back what another still
  // shows.
  Finding finding = finding_of(job, over);
  finding.severity = Severity::kGood;
  finding.evidence.clear();
  for (const auto& [id, other] : state.hangs) {
    if (other.node == over.node && other.is_one == over.is_one) finding = finding_of(id, other);
  }
  open_finding(state, node, finding);
}

StopReason stop_reason_by_hang(const State& state, const Job& job) {
  if (!state.hangs.contains(job.id)) return StopReason::kNone;
  switch (state.settings.on_hang) {
    case OnHang::kShow:
      return StopReason::kNone;
    case OnHang::kRequeue:
      // A job that must not run twice is left to people.
      return job.spec->requeue ? StopReason::kHung : StopReason::kNone;
    case OnHang::kRetry:
      return StopReason::kHung;
  }
  return StopReason::kNone;
}

Span ran_well(const State& state, const Job& job) {
  const Attempt& attempt = job.attempts.back();
  if (attempt.started_at.us == 0) return {};
  // What it did before it fell silent counts, and the silence does not.
  const auto hang = state.hangs.find(job.id);
  const Instant until =
      hang == state.hangs.end() ? state.now : Instant{hang->second.at.us - hang->second.silent.us};
  return std::max(Span{}, until - attempt.started_at);
}

}  // namespace dove::core
