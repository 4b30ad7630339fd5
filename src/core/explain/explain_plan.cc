#include "core/explain/explain_plan.h"

#include <algorithm>

#include "core/cycle/kept_nodes.h"
#include "core/place/within_limits.h"
#include "core/plan/plan.h"
#include "core/plan/promise.h"
#include "core/state/books.h"
#include "core/state/findings.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

// The job's nodes as they would be if it were to start now.
// The same search that kPlace makes, with and without promises: what fits without and not with them
// is kept from the job by a promise, verified by running it.
class Now {
 public:
  // `told`: the other reasons; limits among them do not count. `without`: but for these nodes.
  Now(const State& state, const PlacementPolicy& policy, const Pool& pool, const Job& job,
      const std::vector<Reason>& told, const std::vector<NodeId>& without = {})
      : state_(state),
        policy_(policy),
        job_(job),
        // Promises that would give way to it are no reason to wait.
        ignored_(promises_behind(state, job)),
        told_(told) {
    for (const Node& node : state.nodes) {
      if (!is_available(node) || !text::any_hostlist_holds(pool.nodes, node.name)) continue;
      if (std::binary_search(without.begin(), without.end(), node.id)) continue;
      ranked_.insert({policy.rank(free_of(node)), node.id});
      if (allows(*job.spec, node)) nodes_.push_back(&node);
    }
  }

  const std::vector<const Node*>& nodes() const { return nodes_; }

  bool fits(bool with_promises) const {
    Plan plan;
    note_reservations(state_, plan);
    if (with_promises) note_promises(state_, plan);
    const Stay stay = stay_of(state_, *job_.spec);
    PlannedBooks planned(state_, plan,
                         {job_.spec.get(), guest_of(job_).restart_nodes, job_.id, state_.now,
                          stay.end(state_.now), kNever, &ignored_});
    Candidates candidates;
    candidates.ranked = &ranked_;
    candidates.nodes = &state_.nodes;
    candidates.jobs = &state_.jobs;
    candidates.executors = &state_.executors;
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

 private:
  const State& state_;
  const PlacementPolicy& policy_;
  const Job& job_;
  std::set<JobId> ignored_;
  std::vector<Reason> told_;
  RankedNodes ranked_;
  std::vector<const Node*> nodes_;
};

// The first promise to somebody else on the nodes that the job could use.
void add_promised(const State& state, const Job& job, const Now& now, std::vector<Reason>& out) {
  Reason reason;
  reason.kind = ReasonKind::kPromised;
  for (const auto& [id, promise] : state.promises) {
    // The one that falls due first: until then at least its places are kept.
    if (id == job.id || (reason.other && reason.until <= promise.start_at)) continue;
    const bool hits = std::any_of(
        promise.placements.begin(), promise.placements.end(), [&](const Placement& placement) {
          return std::any_of(now.nodes().begin(), now.nodes().end(),
                             [&](const Node* node) { return node->id == placement.node; });
        });
    if (!hits) continue;
    reason.other = id;
    reason.until = promise.start_at;
  }
  if (reason.other) out.push_back(std::move(reason));
}

// A job that waits for places, and would have been promised some if there was an end in sight.
void add_without_plan(const State& state, const Job& job, std::vector<Reason>& out) {
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
  const Pool* pool = pool_of(state, *job.spec);
  for (JobId id : jobs_on_nodes(state)) {
    const Job& other = *state.find_job(id);
    if (pool_of(state, *other.spec) != pool) continue;
    // Jobs without a time limit, behind which nothing can be planned.
    reason.count += held_until(state, other) == kNever ? 1 : 0;
  }
  if (reason.count > 0) out.push_back(std::move(reason));
}

// Nodes that are kept for a gang that has waited too long.
void add_kept(const State& state, const Policies& policies, const Pool& pool, const Job& job,
              std::vector<Reason>& out) {
  const KeptNodes kept = kept_nodes(state, policies);
  const std::vector<NodeId> nodes = nodes_kept_from(state, kept, job);
  if (nodes.empty()) return;
  const Now with(state, *policies.placement, pool, job, out);
  const Now without(state, *policies.placement, pool, job, out, nodes);
  // Kept nodes are the cause only where they decide: with them it would fit, without them it does
  // not.
  if (!with.fits(true) || without.fits(true)) return;
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

void explain_plan(const State& state, const Policies& policies, const Job& job,
                  std::vector<Reason>& out) {
  // Before the search below: its reason stands beside "no resources", and needs no search.
  add_without_plan(state, job, out);
  const Pool* pool = pool_of(state, *job.spec);
  if (pool == nullptr) return;
  add_kept(state, policies, *pool, job, out);
  if (state.promises.empty()) return;
  const Now now(state, *policies.placement, *pool, job, out);
  if (now.fits(false) && !now.fits(true)) add_promised(state, job, now, out);
}

}  // namespace dove::core
