#include "core/preempt/victim_explain.h"

#include <algorithm>
#include <vector>

#include "core/preempt/victim_limits.h"
#include "core/preempt/victim_search.h"
#include "core/preempt/victims.h"
#include "core/queue/queue_order.h"
#include "core/state/books.h"

namespace dove::core {

std::optional<Reason> explain_victims(const State& state, const Policies& policies,
                                      const RunningJobs& running, const RankedNodes& available,
                                      const Job& job) {
  if (!state.settings.preemption) return {};
  std::vector<ForeignJobPtr> foreign;
  if (takes_from_foreign(state, job)) foreign = foreign_jobs(state);
  if (running.preemptible.empty() && foreign.empty()) return {};
  VictimRules rules;
  // Also what can be done once slices and pauses are over: what keeps the job waiting is then told
  // by an instant.
  rules.rotation = true;
  rules.soon = true;
  rules.takes_over = order_of(state, policies, job.spec->queue).head() == Head::kTakesOver;
  Stoppable stoppable(state, running.preemptible, running.stopping);
  const std::vector<Victim> victims =
      find_victims(state, job, available, stoppable, rules, foreign);
  Reason reason;
  reason.kind = ReasonKind::kPreemption;
  reason.used = static_cast<std::int64_t>(running.preemptible.size() + foreign.size());
  // Told even where no set of them helps: "3 of 12 may be stopped, and that is not enough" is an
  // answer.
  reason.total = static_cast<std::int64_t>(victims.size());
  if (victims.empty()) return reason;
  const RankedNodes ranked = open_nodes(state, job, available);
  VictimSearch search(state, *policies.placement, job, ranked, running.stopping, victims);
  auto found = search.find();
  if (!found || !keep_limits(state, job, running.stopping, victims, *found)) return reason;
  if (found->victims.empty()) return reason;
  reason.count = static_cast<std::int64_t>(found->victims.size());
  const Victim& first = found->victims.front();
  if (first.foreign == nullptr) {
    reason.other = first.job;
  } else {
    reason.subject = first.foreign->text;
  }
  for (const Victim& victim : found->victims) {
    const Job& it = job_of(state, victim);
    // Rotation does not wait for pauses; there the slice is the protection.
    const Instant pause = victim.kind == VictimKind::kRotation ? Instant{} : pause_end(it);
    const Instant free_at = std::max(slice_end(it), pause);
    // All of them are needed, so the last one that is protected decides.
    if (free_at > state.now && free_at != kNever) reason.until = std::max(reason.until, free_at);
  }
  return reason;
}

}  // namespace dove::core
