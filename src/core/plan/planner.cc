#include "core/plan/planner.h"

#include <algorithm>

#include "base/digest.h"
#include "core/place/place.h"
#include "core/plan/lent_plan.h"
#include "core/plan/wishes.h"
#include "core/state/books.h"

namespace dove::core {
namespace {

// A gang whose nodes are free at different times settles on an instant in this many rounds.
constexpr int kRounds_max = 64;

// How a job goes over nodes when all get the same.
struct Even {
  std::size_t nodes = 0;
  std::int32_t tasks = 0;  // on each
};

// Lengths between two powers of two share their bounds, which hold for the shorter.
Span rounded_down(Span length) {
  if (length.us <= 1 || length.us == kNever.us) return length;
  std::int64_t power = 1;
  while (power <= length.us / 2) power *= 2;
  return Span{power};
}

Span length_from(const Stay& stay, Instant start) {
  const Instant end = stay.end(start);
  return end == kNever ? Span{kNever.us} : end - start;
}

}  // namespace

// The node cannot start the job earlier.
struct Planner::Bound {
  Instant at;
  NodeId node;
  // For heaps with the earliest on top.
  bool operator<(const Bound& other) const {
    return at != other.at ? at > other.at : node > other.node;
  }
};

struct Planner::Shape {
  std::uint64_t digest = 0;
  const Pool* pool = nullptr;
  JobSpec spec;
  std::int32_t restart_nodes = 0;
  std::vector<NodeId> avoided;
  Even even;
  NodeNeeds needs;
  Span least;
  std::vector<Bound> bounds;  // a heap

  Guest guest() const { return {spec, restart_nodes}; }
};

struct Planner::Query {
  JobId job;
  const JobSpec& spec;
  std::int32_t restart_nodes;
  std::span<const NodeId> avoided;
  const Pool& pool;
  const RankedNodes& nodes;  // of the pool
  Stay stay;
  Span limit;
  Instant from;
  Instant over_by;  // it has to have run for its limit by then
  Even even = {};
  NodeNeeds needs = {};

  // However late it starts; what has to be over by some instant stays the shorter the later.
  Span least_stay() const { return over_by == kNever ? stay.longest : limit; }
  Guest guest() const { return {spec, restart_nodes}; }
  Claim claim(Instant start) const { return {&spec, restart_nodes, job, start, stay.end(start)}; }
  bool is_in_time(Instant start) const {
    return start != kNever && start + limit <= over_by && stay.end(start) > start;
  }
};

struct Planner::Fit {
  Instant at;
  NodeId node;
  bool operator<(const Fit& other) const {
    return at != other.at ? at < other.at : node < other.node;
  }
};

// What one query has looked at.
struct Planner::Looked {
  std::vector<Fit> fits;      // ascending
  std::vector<Bound> bounds;  // a heap: by sums for as long as this job stays
  std::vector<Bound> seen;    // taken from the shape's heap
};

namespace {

template <class Bound>
void push(std::vector<Bound>& heap, const Bound& bound) {
  heap.push_back(bound);
  std::push_heap(heap.begin(), heap.end());
}

template <class Bound>
Bound pop(std::vector<Bound>& heap) {
  std::pop_heap(heap.begin(), heap.end());
  const Bound first = heap.back();
  heap.pop_back();
  return first;
}

// Puts `bound` in the first one's place: most often it stays near the top.
template <class Bound>
void replace_first(std::vector<Bound>& heap, const Bound& bound) {
  std::size_t at = 0;
  for (std::size_t next = 1; next < heap.size(); next = 2 * at + 1) {
    if (next + 1 < heap.size() && heap[next] < heap[next + 1]) ++next;
    if (!(bound < heap[next])) break;
    heap[at] = heap[next];
    at = next;
  }
  heap[at] = bound;
}

// Whether some node has room for this many tasks when nobody is on it.
bool fits_on_one(const State& state, Plan& plan, const PlacementPolicy& policy,
                 const RankedNodes& nodes, const JobSpec& spec) {
  const TaskGroup& group = spec.groups.front();
  const NodeNeeds needs = needs_of(group, group.tasks);
  for (const NodeEntry& entry : nodes) {
    const Node& node = state.nodes[entry.node];
    if (!allows(spec, node)) continue;
    // Steps leave out what never ends, which books_of_empty would give back: the cheaper test
    // first.
    const NodeFree& last = plan_of(state, plan, entry.node).steps.back().free;
    if (last.gpus_milli < needs.gpus_milli || last.cores < needs.cores) continue;
    if (capacity(books_of_empty(node).view(), group, policy, group.tasks) >= group.tasks)
      return true;
  }
  return false;
}

Even even_of(const State& state, Plan& plan, const PlacementPolicy& policy,
             const RankedNodes& nodes, const JobSpec& spec) {
  if (spec.groups.size() != 1 || !spec.domain.empty() || has_wish_for_all(spec)) return {};
  const TaskGroup& group = spec.groups.front();
  if (group.tasks_per_node > 0) {
    const std::int32_t each = std::min(group.tasks_per_node, group.tasks);
    if (group.tasks % each != 0) return {};  // uneven: for find_any
    return {static_cast<std::size_t>(group.tasks / each), each};
  }
  if (group.nodes_min > 0 && group.nodes_min == group.nodes_max) {
    if (group.tasks % group.nodes_min != 0) return {};
    return {static_cast<std::size_t>(group.nodes_min), group.tasks / group.nodes_min};
  }
  if (group.tasks == 1) return {1, 1};
  if (group.nodes_min > 1 || spec.spread == Spread::kSpread) return {};
  if (!fits_on_one(state, plan, policy, nodes, spec)) return {};
  return {1, group.tasks};
}

std::uint64_t digest_of(const Pool& pool, const JobSpec& spec, const Even& even, Span least) {
  Digest digest;
  digest.add(pool.name);
  digest.add(static_cast<std::uint64_t>(even.tasks));
  digest.add(static_cast<std::uint64_t>(least.us));
  for (const Request* request : {&spec.groups.front().per_task, &spec.groups.front().per_node}) {
    digest.add(static_cast<std::uint64_t>(request->cores));
    digest.add(static_cast<std::uint64_t>(request->memory_bytes));
    digest.add(static_cast<std::uint64_t>(request->gpus));
    digest.add(static_cast<std::uint64_t>(request->share_milli));
  }
  return digest.value();
}

// Alike in what bounds by sums depend on, reservations aside. The rest is left to the look by id.
bool same_bounds(const JobSpec& a, const JobSpec& b) {
  return choose_alike(a, b) && a.groups.front().per_task == b.groups.front().per_task &&
         a.groups.front().per_node == b.groups.front().per_node;
}

}  // namespace

FreeBooks books_of_empty(const Node& node) {
  FreeBooks books(node);
  books.devices = {};
  books.devices.free_milli.assign(node.device_free_milli.size(), kWholeDevice_milli);
  books.cores = usable_cores(node);
  books.memory_bytes = node.inventory->memory_bytes - node.declared.memory_reserved_bytes;
  return books;
}

Planner::Planner(const State& state, Plan& plan, const PlacementPolicy& policy,
                 const PoolIndexes& pools)
    : state_(state), plan_(plan), policy_(policy), pools_(pools) {}

Planner::~Planner() = default;

std::optional<Planned> Planner::find(const Job& job) {
  const JobSpec& spec = *job.spec;
  gave_up_searching_ = false;
  seen_free_.reset();
  const Pool* pool = pool_of(state_, spec);
  // Jobs that ask for neighbours or for distance wait for people, not for amounts: no instant can
  // be promised to them.
  if (pool == nullptr || depends_on_neighbours(spec)) return std::nullopt;
  Query query{job.id,
              spec,
              guest_of(job).restart_nodes,
              job.nodes_avoided,
              *pool,
              pools_.at(pool->name).nodes,
              stay_of(state_, spec),
              limit_left(state_, job),
              state_.now,
              latest_end(state_, spec)};
  if (!spec.reservation.empty()) {
    const Reservation* reservation = reservation_of(state_, spec);
    if (reservation == nullptr || !admits(*reservation, {spec})) return std::nullopt;
    query.from = std::max(query.from, reservation->starts_at);
  }
  query.even = even_of(state_, plan_, policy_, query.nodes, spec);
  if (query.even.nodes == 0) {
    if (!enough_in_the_end(query)) return std::nullopt;
    auto found = find_any(query);
    gave_up_searching_ = !found;
    return found;
  }
  query.needs = needs_of(spec.groups.front(), query.even.tasks);
  auto found = find_even(query);
  if (found || query.avoided.empty()) return found;
  query.avoided = {};  // to avoid nodes is a wish: no plan at all is worse
  return find_even(query);
}

void Planner::keep(JobId job, const JobSpec& spec, Planned planned) {
  const Planned& it = kept_.emplace_back(std::move(planned));
  const Instant to = stay_of(state_, spec).end(it.start_at);
  for (const Placement& placement : it.placements) {
    NodePlan& node = plan_.nodes[placement.node];
    add_hold(node, {job, &placement, it.start_at, to, true, spec.exclusive});
    node.is_bounded = false;  // what is free falls where the promise begins
  }
}

Planner::Shape& Planner::shape_of(const Query& query) {
  const Span least = rounded_down(query.least_stay());
  const std::uint64_t digest = digest_of(query.pool, query.spec, query.even, least);
  for (auto& shape : shapes_) {
    if (shape->digest == digest && shape->pool == &query.pool && shape->least == least &&
        shape->even.tasks == query.even.tasks &&
        std::equal(shape->avoided.begin(), shape->avoided.end(), query.avoided.begin(),
                   query.avoided.end()) &&
        same_bounds(shape->spec, query.spec) &&
        (!plan_.reserves || same_windows(shape->guest(), query.guest()))) {
      return *shape;
    }
  }
  Shape& shape = *shapes_.emplace_back(std::make_unique<Shape>());
  shape.digest = digest;
  shape.pool = &query.pool;
  shape.spec = query.spec;
  shape.restart_nodes = query.restart_nodes;
  shape.avoided.assign(query.avoided.begin(), query.avoided.end());
  shape.even = query.even;
  shape.needs = query.needs;
  shape.least = least;
  // Its bounds are further on than a fresh heap's, and as true for this shape.
  if (const Shape* lesser = lesser_than(shape)) {
    shape.bounds = lesser->bounds;
    return shape;
  }
  const bool chooses = chooses_nodes(state_, query.spec);
  for (const NodeEntry& entry : query.nodes) {
    if (std::find(query.avoided.begin(), query.avoided.end(), entry.node) != query.avoided.end()) {
      continue;
    }
    if (chooses && !allows(query.spec, state_.nodes[entry.node])) continue;
    shape.bounds.push_back({query.from, entry.node});
  }
  std::make_heap(shape.bounds.begin(), shape.bounds.end());
  return shape;
}

// One that asks for no more of the same nodes, and most of all such: where it cannot start, this
// one cannot either.
const Planner::Shape* Planner::lesser_than(const Shape& shape) const {
  const Shape* best = nullptr;
  for (const auto& other : shapes_) {
    const JobSpec& spec = other->spec;
    const bool is_lesser = other.get() != &shape && other->pool == shape.pool &&
                           !(shape.least < other->least) &&
                           other->needs.gpus_milli <= shape.needs.gpus_milli &&
                           other->needs.cores <= shape.needs.cores &&
                           other->needs.memory_bytes <= shape.needs.memory_bytes &&
                           other->avoided == shape.avoided && choose_alike(spec, shape.spec) &&
                           (!plan_.reserves || same_windows(other->guest(), shape.guest()));
    if (!is_lesser) continue;
    const auto size = [](const Shape& one) { return std::pair(one.needs.gpus_milli, one.least); };
    if (best == nullptr || size(*best) < size(*other)) best = other.get();
  }
  return best;
}

Instant Planner::earliest(const Query& query, NodeId id, Instant from) {
  const NodePlan& plan = plan_of(state_, plan_, id);
  const Node& node = state_.nodes[id];
  const TaskGroup& group = query.spec.groups.front();
  for (Instant at = from; at != kNever;) {
    at =
        earliest_by_sums(state_, plan, query.needs, query.guest(), at, length_from(query.stay, at));
    if (!query.is_in_time(at)) return kNever;
    auto books = lent_during(state_, plan, node, query.claim(at));
    if (books && capacity(books->view(), group, policy_, query.even.tasks) >= query.even.tasks) {
      seen_free_ = SeenFree{id, at, std::move(*books)};
      return at;
    }
    at = next_change(plan, at);  // until then the books stay as they are
  }
  return kNever;
}

// Adds the nodes whose earliest start could be among those wanted. False: there are too few.
bool Planner::collect(const Query& query, Shape& shape, Looked& looked) {
  const std::size_t wanted = query.even.nodes;
  std::vector<Fit>& fits = looked.fits;
  while (true) {
    const Bound* next = shape.bounds.empty() ? nullptr : &shape.bounds.front();
    const bool by_own = !looked.bounds.empty() && (!next || *next < looked.bounds.front());
    if (by_own) next = &looked.bounds.front();
    if (next == nullptr) break;
    // No node left can be earlier than the last one wanted. Equal is not better, as ties are broken
    // by node.
    if (fits.size() >= wanted && fits[wanted - 1].at <= next->at) break;
    if (by_own) {
      const Bound bound = pop(looked.bounds);
      const Instant at = earliest(query, bound.node, bound.at);
      if (at == kNever) continue;  // not in time, so not later either
      const Fit fit{at, bound.node};
      fits.insert(std::upper_bound(fits.begin(), fits.end(), fit), fit);
      continue;
    }
    Bound bound = shape.bounds.front();
    const NodePlan& plan = plan_of(state_, plan_, bound.node);
    const auto sums = [&](Span length) {
      return earliest_by_sums(state_, plan, query.needs, query.guest(), bound.at, length);
    };
    // Tightened only while it is on top: most nodes of a large pool are never looked at by id.
    const Instant at = sums(shape.least);
    if (at > bound.at && at != kNever) {
      bound.at = at;
      replace_first(shape.bounds, bound);
      continue;
    }
    pop(shape.bounds);
    if (at == kNever) continue;
    looked.seen.push_back(bound);  // it goes back to the shape's heap at the end
    bound.at = sums(query.least_stay());
    if (bound.at != kNever) push(looked.bounds, bound);
  }
  return fits.size() >= wanted;
}

// Whether all of the first nodes that are wanted fit at the instant when the last one does; those
// that do not are moved to when they do: promises and reservations may begin in between.
bool Planner::settle(const Query& query, std::vector<Fit>& fits) {
  const Instant at = fits[query.even.nodes - 1].at;
  bool settled = true;
  for (std::size_t i = 0; i < query.even.nodes; ++i) {
    if (fits[i].at == at || plan_of(state_, plan_, fits[i].node).is_bounded) continue;
    const Instant again = earliest(query, fits[i].node, at);
    if (again == at) continue;
    fits[i].at = again;
    settled = false;
  }
  std::erase_if(fits, [](const Fit& fit) { return fit.at == kNever; });
  std::sort(fits.begin(), fits.end());
  return settled;
}

Planned Planner::placed(const Query& query, std::vector<Fit>& fits) {
  const TaskGroup& group = query.spec.groups.front();
  Planned planned;
  planned.start_at = fits[query.even.nodes - 1].at;
  fits.resize(query.even.nodes);
  std::sort(fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.node < b.node; });
  const Claim claim = query.claim(planned.start_at);
  Rank rank = 0;
  for (const Fit& fit : fits) {
    const Node& node = state_.nodes[fit.node];
    const bool is_seen = seen_free_ && seen_free_->node == fit.node && seen_free_->at == claim.from;
    FreeBooks books = is_seen ? std::move(seen_free_->books)
                              : *lent_during(state_, plan_of(state_, plan_, fit.node), node, claim);
    if (is_seen) seen_free_.reset();  // its books were moved from
    Placement& placement = planned.placements.emplace_back();
    placement.node = fit.node;
    placement.node_rank = static_cast<std::int32_t>(planned.placements.size()) - 1;
    grant(books, group, 0, rank, query.even.tasks, policy_, placement);
    grant_along(books, query.spec.exclusive, placement);
    rank += static_cast<Rank>(query.even.tasks);
  }
  return planned;
}

std::optional<Planned> Planner::find_even(const Query& query) {
  Shape& shape = shape_of(query);
  Looked looked;
  bool settled = false;
  for (int round = 0; round < kRounds_max && !settled; ++round) {
    if (!collect(query, shape, looked)) break;
    settled = settle(query, looked.fits);
  }
  // As they were for the shape: what is true of the shape stays, what this query found does not.
  for (const Bound& bound : looked.seen) push(shape.bounds, bound);
  if (!settled) return std::nullopt;
  return placed(query, looked.fits);
}

// At one instant: the search that a launch makes, over what is free from then on.
std::optional<Planned> Planner::search_at(const Query& query, Instant at) {
  if (!query.is_in_time(at)) return std::nullopt;
  PlannedBooks planned(state_, plan_, query.claim(at));
  RankedNodes ranked;
  ById<NodeId, FreeView> views(state_.nodes.size());
  for (const NodeEntry& entry : query.nodes) {
    if (!planned.is_open(entry.node)) continue;
    const FreeBooks* books = planned.books(entry.node);
    const Node& node = state_.nodes[entry.node];
    FreeView& view = views[entry.node];
    view = books == nullptr ? view_of(node) : books->view();
    ranked.insert({policy_.rank(free_of(view)), entry.node});
  }
  Candidates candidates;
  candidates.ranked = &ranked;
  candidates.nodes = &state_.nodes.by_id();
  candidates.views = &views;  // of what its executor is lent
  auto found = find_places(candidates, policy_, query.spec, query.avoided);
  if (!found) return std::nullopt;
  return Planned{at, std::move(*found)};
}

// Whether the sums would do for each group alone once all that has an end has ended.
bool Planner::enough_in_the_end(const Query& query) const {
  return std::all_of(
      query.spec.groups.begin(), query.spec.groups.end(), [&](const TaskGroup& group) {
        const NodeNeeds each = needs_of(group, 1);
        std::int64_t tasks = 0;
        for (const NodeEntry& entry : query.nodes) {
          const NodeFree& free = plan_of(state_, plan_, entry.node).steps.back().free;
          if (free.gpus_milli < each.gpus_milli || free.cores < each.cores) continue;
          std::int64_t here = group.tasks;
          const Request& task = group.per_task;
          const std::int64_t milli =
              std::int64_t{task.gpus} * kWholeDevice_milli + task.share_milli;
          if (milli > 0) here = std::min(here, free.gpus_milli / milli);
          if (task.cores > 0) here = std::min(here, free.cores / task.cores);
          tasks += here;
          if (tasks >= group.tasks) return true;
        }
        return false;
      });
}

std::optional<Planned> Planner::find_any(const Query& query) {
  std::vector<Instant> instants{query.from};
  for (const NodeEntry& entry : query.nodes) {
    const NodePlan& plan = plan_of(state_, plan_, entry.node);
    for (const Step& step : plan.steps) instants.push_back(step.at);
    for (const Window& window : plan.windows) instants.push_back(window.to);
  }
  std::erase_if(instants, [&](Instant at) { return !query.is_in_time(at) || at < query.from; });
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  if (instants.empty()) return std::nullopt;
  // The latest instant first: without places then, there are none at any (nearly: see below).
  std::optional<Planned> best = search_at(query, instants.back());
  if (!best) return std::nullopt;
  std::size_t begin = 0;
  std::size_t end = instants.size() - 1;
  while (begin < end) {
    // Halving takes it that what fits stays fitting. Promises break that now and then: the start is
    // then late, never wrong.
    const std::size_t middle = begin + (end - begin) / 2;
    auto found = search_at(query, instants[middle]);
    if (found) {
      best = std::move(found);
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return best;
}

}  // namespace dove::core
