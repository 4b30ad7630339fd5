#include "core/explain/explain_plan.h"

#include <algorithm>

#include "core/cycle/kept_nodes.h"
#include "core/explain/explain_foreign.h"
#include "core/place/within_limits.h"
#include "core/plan/plan.h"
#include "core/plan/promise.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// Whether the job would find places if it were to start now.
// The same search that kPlace makes, with and without promises: what fits without and not with them
// is kept from the job by a promise, verified by running it.
class Now {
 public:
  // On these nodes, which must stay. `told`: the other reasons; limits among them do not count.
  Now(const State& state, const PlacementPolicy& policy, WhatIf& nodes, const Job& job,
      const std::vector<Reason>& told)
      : state_(state),
        policy_(policy),
        nodes_(nodes),
        job_(job),
        ignored_(promises_behind(state, job)),
        told_(told) {
    note_reservations(state, nodes.pool_nodes().windows, plan_);
  }

  // From here on they count.
  void keep_promises() {
    plan_.nodes.clear();
    note_promises(state_, plan_);
  }

  // From here on this counts, too.
  void keep_to_come() {
    plan_.nodes.clear();
    note_to_come(state_, plan_);
  }

  bool fits();

 private:
  const State& state_;
  const PlacementPolicy& policy_;
  WhatIf& nodes_;
  const Job& job_;
  const std::set<JobId> ignored_;  // promises that would give way to it: no reason to wait
  const std::vector<Reason>& told_;
  Plan plan_;
};

bool Now::fits() {
  const Stay stay = stay_of(state_, *job_.spec);
  PlannedBooks planned(state_, plan_,
                       {job_.spec.get(), guest_of(job_).restart_nodes, job_.id, state_.now,
                        stay.end(state_.now), kNever, &ignored_});
  Candidates candidates = nodes_.candidates();
  if (!job_.spec->domain.empty()) candidates.domains = &nodes_.domains();
  candidates.free = &planned;
  candidates.spares_last = planned.takes_spares();
  // Where it goes matters only if that decides how much counts towards limits.
  candidates.only_whether = !amount_hangs_on_places(state_, *job_.spec);
  if (candidates.only_whether) {
    return find_places(candidates, policy_, *job_.spec, {}).has_value();
  }
  LimitedSearch search{state_, *job_.spec, job_.nodes_avoided};
  search.find = [&](std::span<const NodeId> avoided) {
    return find_places(candidates, policy_, *job_.spec, avoided);
  };
  search.excused = told_;
  return places_within_limits(search).has_value();
}

// The first promise to somebody else on the nodes that the job could use.
void add_promised(const State& state, const PoolNodes& nodes, const Job& job,
                  std::vector<Reason>& out) {
  const auto could_use = [&](const Placement& placement) {
    const NodeId id = placement.node;
    return nodes.are_available[id] && allows(*job.spec, state.nodes[id]);
  };
  Reason reason;
  reason.kind = ReasonKind::kPromised;
  for (const auto& [id, promise] : state.promises) {
    // The one that falls due first: until then at least its places are kept.
    if (id == job.id || (reason.other && reason.until <= promise.start_at)) continue;
    if (!std::any_of(promise.placements.begin(), promise.placements.end(), could_use)) continue;
    reason.other = id;
    reason.until = promise.start_at;
  }
  if (reason.other) out.push_back(std::move(reason));
}

// A job that waits for places, and would have been promised some if there was an end in sight.
void add_without_plan(ExplainIndex& index, const Job& job, std::vector<Reason>& out) {
  const State& state = index.state();
  const bool waits = std::any_of(out.begin(), out.end(), [](const Reason& reason) {
    return reason.kind == ReasonKind::kResources;
  });
  const auto queue = state.queues.find(job.spec->queue);
  // Only a job that lacks places could have been promised some.
  if (!waits || state.promises.contains(job.id) || queue == state.queues.end()) return;
  std::int64_t promises = 0;
  for (const auto& [id, promise] : state.promises) {
    promises += state.find_job(id)->spec->queue == job.spec->queue ? 1 : 0;
  }
  // The queue has as many promises as it may have, so nobody has looked for a plan.
  if (promises >= queue->second.promises) return;
  Reason reason;
  reason.kind = ReasonKind::kNoPlan;
  // Jobs without a time limit, behind which nothing can be planned.
  reason.count = index.endless(*pool_of(state, *job.spec));
  if (reason.count > 0) out.push_back(std::move(reason));
}

// Nodes that are kept for a gang that has waited too long. REQUIRES: it fits on the available ones.
void add_kept(ExplainIndex& index, const Job& job, std::vector<Reason>& out) {
  const State& state = index.state();
  const Policies& policies = index.policies();
  const KeptNodes kept = kept_nodes(state, policies);
  const std::vector<NodeId> nodes = nodes_kept_from(state, kept, job);
  if (nodes.empty()) return;
  WhatIf::Closed closed(state.nodes.size());
  for (const NodeId id : nodes) closed[id] = true;
  WhatIf& as_is = index.books(*pool_of(state, *job.spec)).all();
  WhatIf others(as_is, WhatIf::Nodes::kAvailable, closed);
  Now without(state, *policies.placement, others, job, out);
  without.keep_promises();
  // Kept nodes are the cause only where they decide: without them it does not fit.
  if (without.fits()) return;
  Reason reason;
  reason.kind = ReasonKind::kPromised;
  for (const auto& [id, its] : kept) {
    if (id != job.id && std::includes(nodes.begin(), nodes.end(), its.begin(), its.end())) {
      reason.other = id;
    }
  }
  out.push_back(std::move(reason));
}

}  // namespace

void explain_plan(ExplainIndex& index, WhatIf& available, const Job& job,
                  std::vector<Reason>& out) {
  const State& state = index.state();
  // Before the searches: its reason stands beside "no resources", and needs none.
  add_without_plan(index, job, out);
  const bool keeps = keeps_for_later(state);
  if (state.promises.empty() && !keeps && !may_keep_nodes(state)) return;
  Now now(state, *index.policies().placement, available, job, out);
  const bool fits = now.fits();
  // Most jobs that wait: nothing is kept from them, as there is nothing.
  if (!fits && search_is_monotone(*job.spec)) return;
  now.keep_promises();
  if (now.fits()) {
    if (keeps) now.keep_to_come();
    if (keeps && !now.fits()) return add_kept_for_later(state, available.pool_nodes(), job, out);
    // To say what is kept costs most, so it is asked last.
    return add_kept(index, job, out);
  }
  if (fits) add_promised(state, available.pool_nodes(), job, out);
}

}  // namespace dove::core
