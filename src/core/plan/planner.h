// Planner: the earliest start of a waiting job by time limits, promises and reservations, and the
// places that it then gets, by id.
//
// A job whose tasks spread evenly over a number of nodes is planned node by node. Each node has a
// lower bound from sums (core/plan/plan.h), and only nodes whose bound is below the best start so
// far are examined by id. For any other job (several groups, uneven spreads, topology) the instants
// are searched by bisection. The number of steps grows with the nodes of the pool times the holds
// on each, never with the number of waiting jobs.
//
// Jobs of equal shape share their bounds for the lifetime of a Planner: promises made meanwhile
// only add holds.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/place/pool_index.h"
#include "core/plan/plan.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

struct Planned {
  Instant start_at;
  std::vector<Placement> placements;
};

// What the node has for tasks while nobody is on it.
FreeBooks books_of_empty(const Node& node);

class Planner {
 public:
  // REQUIRES: the plan and the pools are those of the state, as it is now; all outlive this.
  Planner(const State& state, Plan& plan, const PlacementPolicy& policy, const PoolIndexes& pools);
  ~Planner();

  // None when nothing that is known will ever make room for it, or not by its deadline.
  std::optional<Planned> find(const Job& job);

  // Whether the last `find` gave up after a search: it takes the first places that it comes to, so
  // less room elsewhere may lead it to some. Otherwise only more room or time helps.
  bool gave_up_searching() const { return gave_up_searching_; }

  // What is found from now on is behind this job too: for plans of many that nobody is promised.
  // The plan is of no other use afterwards.
  void keep(JobId job, const JobSpec& spec, Planned planned);

 private:
  struct Shape;
  struct Query;
  struct Fit;
  struct Bound;
  struct Looked;
  // What the node has free for the job that is looked for, from then on for as long as it stays.
  struct SeenFree {
    NodeId node;
    Instant at;
    FreeBooks books;
  };

  Shape& shape_of(const Query& query);
  const Shape* lesser_than(const Shape& shape) const;
  std::optional<Planned> find_even(const Query& query);
  std::optional<Planned> find_any(const Query& query);
  bool enough_in_the_end(const Query& query) const;
  std::optional<Planned> search_at(const Query& query, Instant at);
  Instant earliest(const Query& query, NodeId node, Instant from);
  bool collect(const Query& query, Shape& shape, Looked& looked);
  bool settle(const Query& query, std::vector<Fit>& fits);
  Planned placed(const Query& query, std::vector<Fit>& fits);

  const State& state_;
  Plan& plan_;
  const PlacementPolicy& policy_;
  const PoolIndexes& pools_;
  std::vector<std::unique_ptr<Shape>> shapes_;
  std::deque<Planned> kept_;
  std::optional<SeenFree> seen_free_;  // last
  bool gave_up_searching_ = false;
};

}  // namespace dove::core
