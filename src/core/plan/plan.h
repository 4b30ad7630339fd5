// Plan: for each node, when how much of it is free according to time limits, promises and
// reservations.
//
// Kept in the Indexes and updated per node, on demand: changed nodes are marked, the rest stays
// valid. Nothing in here decides: it is a function of State, and the same whether it was kept or
// rebuilt. Time alone only ever makes a node free later, never earlier: a hold that has exceeded
// its time counts as one without end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/collections/generation.h"
#include "core/place/fit.h"
#include "core/place/place.h"
#include "core/place/reservation.h"
#include "core/state/state.h"

namespace dove::core {

// What an attempt holds, or a promise will hold, on one node during [from, to); or what an executor
// runs there for others (core/plan/foreign_holds.h).
struct Hold {
  JobId job;                             // none: it is foreign, also where it is promised
  const Placement* placement = nullptr;  // in the state, or in a plan of its own
  Instant from;
  Instant to;
  bool promised = false;
  bool whole = false;    // of a promise to an exclusive job: nobody else at that time
  bool foreign = false;  // `placement` is in NodePlan::foreign
};

// What is free from `at` until the next step.
struct Step {
  Instant at;
  NodeFree free;
};

struct NodePlan {
  bool stale = true;
  bool listed = false;        // in Plan::stale
  bool is_bounded = true;     // no promise and no reservation: free amounts never fall
  Instant valid_until;        // then a hold is over its time
  std::uint64_t endless = 0;  // digest of the holds without end
  std::vector<Hold> holds;
  std::vector<SharedPlacement> foreign;  // what foreign holds name
  std::vector<Step> steps;               // ascending, at least one; the first is now
  std::vector<Window> windows;
};

// What is known of a promise that was noted.
struct PlannedPromise {
  Instant start_at;
  std::vector<NodeId> nodes;
  NodeId blocker;                    // as long as this node's plan stands, it cannot start earlier
  std::optional<Generation> due_at;  // its class was opened at these `changes`, it being due
};

struct Plan {
  ById<NodeId, NodePlan> nodes;
  std::map<NodeId, std::set<JobId>> promised;
  std::map<JobId, PlannedPromise> promises;
  std::set<JobId> to_check;     // promises that may be void, or kept earlier
  std::set<JobId> over_limits;  // of jobs over a limit: looked at again whatever changes
  Instant boundary = kNever;    // of a reservation: everything is derived anew
  bool reserves = false;        // some reservation is not over ...
  ById<NodeId, std::vector<Window>> windows;  // ... by node; short of those that have just joined
  std::int64_t ends = 0;                 // how many active jobs end at some instant that is known
  std::set<NodeId> foreign_ends;         // where something foreign ends at such an instant
  std::set<NodeId> to_come;              // where something is kept for others later, as was noted
  Generation freed;                      // something was freed that a job may start on
  Generation sooner;                     // a hold may have come to end sooner
  Generation endless_ended;              // a job without a plan may have got one anywhere
  std::set<NodeId> grown;                // where it may have: there will be more in the end
  std::set<std::uint64_t> without_plan;  // classes that had none ...
  // ... at these `endless_ended`, and `freed` and `sooner` where they matter; none: never looked.
  using Version = std::pair<Generation, std::optional<std::pair<Generation, Generation>>>;
  std::optional<Version> without_plan_at;
  std::vector<NodeId> stale;  // each once; some may have been brought up to date since
  Generation changes;         // a node's plan may have changed
  // A search was given up when `changes` was so, or found what a limit forbids: it may find
  // something else when that moves on, or at the instant when a hold comes to be over its time.
  std::optional<Generation> gave_up_at;
  Instant gave_up_until = kNever;
  // Classes that took up their queue's tries, so that those behind them were not looked at.
  std::set<std::uint64_t> in_the_way;
  bool looks = true;  // a job may be blocked that was not, or a promise be free to be made

  // Whether something may be free at some instant that is not free now.
  bool has_future() const { return ends > 0 || !foreign_ends.empty() || !is_empty(); }
  bool is_empty() const { return promises.empty() && to_come.empty() && !reserves; }
  bool is_reserved(NodeId node) const { return windows.holds(node) && !windows[node].empty(); }
};

// -- kept up to date by sync ---------------------------------------------------------------------

// What the fold has touched, each once: nodes that have less or more free, jobs.
struct Touched {
  const std::vector<NodeId>& taken;
  const std::vector<NodeId>& freed;
  const std::vector<JobId>& jobs;
  bool usage_fell = false;
};
// Whether a promise is another one than before: what is not promised any more, or is, may lead a
// search elsewhere.
bool note_changes(const State& state, Plan& plan, const Touched& touched);

// -- asked by passes -----------------------------------------------------------------------------

// The node's plan, built anew.
const NodePlan& fresh_plan_of(const State& state, Plan& plan, NodeId node);

// The node's plan as of now, brought up to date if need be.
inline const NodePlan& plan_of(const State& state, Plan& plan, NodeId node) {
  if (plan.nodes.holds(node)) {
    const NodePlan& it = plan.nodes[node];
    if (!it.stale && it.valid_until > state.now) return it;
  }
  return fresh_plan_of(state, plan, node);
}

// Notes the promises of the state, in a plan that nobody keeps up to date.
void note_promises(const State& state, Plan& plan);

// Notes what executors keep for others later, in such a plan.
void note_to_come(const State& state, Plan& plan);

// Notes the reservations of the state, and that of one of its nodes.
void note_reservations(const State& state, Plan& plan);
// The same with the windows by node, where they are known.
void note_reservations(const State& state, ById<NodeId, std::vector<Window>> windows, Plan& plan);
void note_reserved(const State& state, Plan& plan, const Node& node);

// Adds what a promise will hold on a node.
void add_hold(NodePlan& node, const Hold& hold);

// The part of the node that is free all through [from, to), by id; none when the node is closed to
// the job then. What is promised to `job` itself counts as free; with `but_after` so does what is
// promised for later than that.
struct Claim {
  const JobSpec* spec = nullptr;
  std::int32_t restart_nodes = 0;  // as of a Guest (core/place/reservation.h)
  JobId job;
  Instant from;
  Instant to;
  Instant but_after = kNever;
  const std::set<JobId>* ignored = nullptr;  // promises to jobs that come after it; may be null
};
std::optional<FreeBooks> free_during(const State& state, const NodePlan& plan, const Node& node,
                                     const Claim& claim);

// Whether the hold is in the claim's way at some time: neither the job's own promise is, nor are
// those behind it. To start before them is no backfill.
bool counts(const Hold& hold, const Claim& claim);

// The first instant after `at` at which the node may have more room; kNever if there is none.
Instant next_change(const NodePlan& plan, Instant at);

// Whether the books hold all that the placement names.
bool holds_all(const FreeBooks& books, const Placement& placement);

// The first instant from `claim.from` on at which the sums are enough for as long as the claim
// lasts, and the node is open to the job. A lower bound, never too late.
Instant earliest_by_sums(const State& state, const NodePlan& plan, const NodeNeeds& needs,
                         const Guest& guest, Instant from, Span length);

// The nodes as a job finds them that starts at `from`: for the search for places
// (core/place/place.h). One that an executor is to run finds what that executor is lent.
class PlannedBooks final : public FreeNodes {
 public:
  PlannedBooks(const State& state, Plan& plan, const Claim& claim)
      : state_(state), plan_(plan), claim_(claim), lent_(lent_executor(state, *claim.spec)) {}

  const FreeBooks* books(NodeId node) override;
  bool is_open(NodeId node) override;
  bool is_spare(NodeId node) override;
  // Whether nodes may be spare ones to this job: then Candidates::spares_last is to be set.
  bool takes_spares() const { return claim_.restart_nodes > 0 && plan_.reserves; }

 private:
  struct Entry {
    bool open = true;
    bool spare = false;
    std::optional<FreeBooks> books;
  };
  const Entry& entry(NodeId node);
  const Entry& plain_entry(NodeId node);  // where the executor is lent a part only
  bool is_plain(NodeId node) const;
  // The job's executor, where it is lent a part of its nodes only.
  static const Executor* lent_executor(const State& state, const JobSpec& spec);

  const State& state_;
  Plan& plan_;
  Claim claim_;
  const Executor* lent_ = nullptr;
  std::map<NodeId, Entry> entries_;  // as far as they were asked for and are not the nodes' own
};

}  // namespace dove::core
