#include "core/plan/plan.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "core/place/node_windows.h"
#include "core/plan/foreign_holds.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

NodeFree allocated_amount(const Placement& placement) {
  NodeFree amount;
  for (const DeviceGrant& grant : placement.devices) amount.gpus_milli += grant.share_milli;
  amount.cores = static_cast<std::int64_t>(placement.cores.size());
  amount.memory_bytes = placement.memory_bytes;
  return amount;
}

void add(NodeFree& to, const NodeFree& amount, std::int64_t sign) {
  to.gpus_milli += sign * amount.gpus_milli;
  to.cores += sign * amount.cores;
  to.memory_bytes += sign * amount.memory_bytes;
}

// Splits the step that holds `at`, unless one begins there, and tells which one begins there.
std::size_t step_at(std::vector<Step>& steps, Instant at) {
  auto next = std::upper_bound(steps.begin(), steps.end(), at,
                               [](Instant t, const Step& step) { return t < step.at; });
  const auto index = static_cast<std::size_t>(next - steps.begin());
  // Before the first step lies the past: whatever is asked from then on begins with that step.
  if (index == 0) return 0;
  if (steps[index - 1].at == at) return index - 1;
  steps.insert(next, {at, steps[index - 1].free});
  return index;
}

void change(std::vector<Step>& steps, const Hold& hold, std::int64_t sign) {
  const NodeFree amount = allocated_amount(*hold.placement);
  const std::size_t begin = step_at(steps, hold.from);
  const std::size_t end = hold.to == kNever ? steps.size() : step_at(steps, hold.to);
  for (std::size_t i = begin; i < end; ++i) add(steps[i].free, amount, sign);
}

void add_running(const State& state, const Node& node, NodePlan& plan) {
  for (JobId id : node.jobs) {
    const Job& job = *state.find_job(id);
    for (const PlacementRecord& record : job.attempts.back().placements) {
      if (record.placement->node != node.id || record.stage == PlacementStage::kEnded) continue;
      const Instant to = places_free_at(state, job);
      // A job that should have ended by now shows that its limit does not bind it (its node may be
      // silent). No later instant would be better founded, so nothing is planned behind it.
      plan.holds.push_back({id, &*record.placement, state.now, to <= state.now ? kNever : to});
    }
  }
}

void add_promised(const State& state, const Plan& all, NodeId node, NodePlan& plan) {
  const auto promised = all.promised.find(node);
  if (promised == all.promised.end()) return;
  for (JobId id : promised->second) {
    const PromiseRecord& promise = state.promises.at(id);
    const JobSpec& spec = *state.find_job(id)->spec;
    Instant to = stay_of(state, spec).end(promise.start_at);
    if (promise.start_at <= state.now) to = kNever;  // it is late: nobody knows
    for (const Placement& placement : promise.placements) {
      if (placement.node != node) continue;
      add_hold(plan, {id, &placement, promise.start_at, to, true, spec.exclusive});
    }
  }
}

void add_endless(const State& state, const Hold& hold, Digest& endless) {
  endless.add(hold.job.value);
  if (hold.promised) return;
  // Another attempt may hold as much by other ids.
  if (!hold.foreign) return endless.add(state.find_job(hold.job)->attempts.back().number);
  for (const std::int32_t core : hold.placement->cores) {
    endless.add(static_cast<std::uint64_t>(core));
  }
  for (const DeviceGrant& grant : hold.placement->devices) {
    endless.add(static_cast<std::uint64_t>(grant.device));
  }
}

void refresh(const State& state, Plan& all, NodeId id, NodePlan& plan) {
  const Node& node = state.nodes[id];
  const bool was_bounded = plan.is_bounded;
  const std::uint64_t was_endless = plan.endless;
  const bool is_listed = plan.listed;
  plan = NodePlan{};
  plan.listed = is_listed;
  plan.stale = false;
  if (all.is_reserved(id)) plan.windows = all.windows[id];
  plan.steps.push_back({state.now, free_of(node)});
  add_running(state, node, plan);
  add_foreign_holds(state, node, plan);
  // Two holds may end at one instant; step_at then finds the step of the first, so that `steps`
  // stays strictly ascending.
  for (const Hold& hold : plan.holds) {
    if (hold.to == kNever) continue;
    const std::size_t begin = step_at(plan.steps, hold.to);
    for (std::size_t i = begin; i < plan.steps.size(); ++i) {
      add(plan.steps[i].free, allocated_amount(*hold.placement), +1);
    }
  }
  // Only now: a promise takes from the steps that the ends of what runs have opened.
  add_promised(state, all, id, plan);
  if (all.to_come.contains(id)) add_to_come(state, node, plan);
  // `endless` stands for all that a job without a plan depends on: what is free when all that ends
  // has ended. While it stays, such a job need not be looked at again.
  Digest endless;
  endless.add(static_cast<std::uint64_t>(is_available(node)));
  plan.valid_until = kNever;
  for (const Hold& hold : plan.holds) {
    plan.is_bounded = plan.is_bounded && !hold.promised;
    // The plan changes by the mere passing of time when a hold is over, or a promise becomes late.
    plan.valid_until = std::min(plan.valid_until, hold.to);
    if (hold.promised && hold.from > state.now) {
      plan.valid_until = std::min(plan.valid_until, hold.from);
    }
    if (hold.to == kNever) add_endless(state, hold, endless);
  }
  plan.is_bounded = plan.is_bounded && plan.windows.empty();
  const NodeFree& last = plan.steps.back().free;
  for (std::int64_t free : {last.gpus_milli, last.cores, last.memory_bytes}) {
    endless.add(static_cast<std::uint64_t>(free));
  }
  plan.endless = endless.value();
  // Between promises and windows there can be room that the last step does not show, so any change
  // of such a node may give a job its plan.
  if (!plan.is_bounded || !was_bounded) all.endless_ended.move_on();
  if (plan.endless != was_endless) all.grown.insert(id);
}

void mark_stale(Plan& plan, NodeId node) {
  plan.nodes.reach(node);
  // `changes` moves on even if the node is stale already: who noted its value since then has read a
  // plan, perhaps of another node, that rests on this one.
  NodePlan& it = plan.nodes[node];
  plan.changes.move_on();
  it.stale = true;
  if (!std::exchange(it.listed, true)) plan.stale.push_back(node);
}

// What stands on the node has changed: its promises may be void, or kept earlier.
void check_promises(Plan& plan, NodeId node) {
  const auto promised = plan.promised.find(node);
  if (promised == plan.promised.end()) return;
  for (JobId job : promised->second) {
    plan.to_check.insert(job);
    NodeId& blocker = plan.promises.at(job).blocker;
    // Without a blocker the promise is looked for again, and may be brought forward.
    if (blocker == node) blocker = {};
  }
}

// Whether there was one.
bool forget_promise(Plan& plan, JobId job) {
  const auto entry = plan.promises.find(job);
  if (entry == plan.promises.end()) return false;
  for (NodeId node : entry->second.nodes) {
    mark_stale(plan, node);
    check_promises(plan, node);
    std::set<JobId>& jobs = plan.promised[node];
    jobs.erase(job);
    if (jobs.empty()) plan.promised.erase(node);
  }
  plan.to_check.erase(job);
  plan.promises.erase(entry);
  // What it had can be promised to others now, also where no hold of a running job has ended.
  plan.freed.move_on();
  return true;
}

// A plan that stands gets the hold of a new promise; any other is built anew when it is needed.
void add_or_mark(const State& state, Plan& plan, JobId job, const PromiseRecord& promise,
                 const Placement& placement) {
  // A promise may name a node that nobody has asked about yet.
  if (plan.nodes.size() < state.nodes.size()) plan.nodes.resize(state.nodes.size());
  NodePlan& node = plan.nodes[placement.node];
  const bool stands = !node.stale && node.valid_until > state.now && promise.start_at > state.now;
  if (!stands) return mark_stale(plan, placement.node);
  const JobSpec& spec = *state.find_job(job)->spec;
  const Instant to = stay_of(state, spec).end(promise.start_at);
  plan.changes.move_on();
  add_hold(node, {job, &placement, promise.start_at, to, true, spec.exclusive});
  node.is_bounded = false;
  node.valid_until = std::min(node.valid_until, promise.start_at);
}

// Whether it is another one than was noted.
bool note_promise(const State& state, Plan& plan, JobId job) {
  const auto promise = state.promises.find(job);
  if (promise == state.promises.end()) return forget_promise(plan, job);
  std::vector<NodeId> nodes;
  for (const Placement& placement : promise->second.placements) nodes.push_back(placement.node);
  const auto entry = plan.promises.find(job);
  const bool same = entry != plan.promises.end() && entry->second.nodes == nodes &&
                    entry->second.start_at == promise->second.start_at;
  plan.to_check.insert(job);
  if (same) return false;
  // The old one first, so that its nodes do not keep holds for both.
  forget_promise(plan, job);
  PlannedPromise made;
  made.start_at = promise->second.start_at;
  made.nodes = std::move(nodes);
  for (const Placement& placement : promise->second.placements) {
    add_or_mark(state, plan, job, promise->second, placement);
    check_promises(plan, placement.node);
    plan.promised[placement.node].insert(job);
  }
  plan.promises[job] = std::move(made);
  plan.to_check.insert(job);
  return true;
}

void change_amounts(FreeBooks& books, const Placement& placement, int sign) {
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    // A node's inventory may have shrunk since the placement was made.
    if (device >= books.devices.free_milli.size()) continue;
    books.devices.free_milli[device] += sign * grant.share_milli;
    if (!grant.is_slice()) continue;
    books.devices.slots_taken.resize(books.devices.free_milli.size());
    SlotSet& taken = books.devices.slots_taken[device];
    taken = sign > 0 ? taken & ~slots_of(grant.slice) : taken | slots_of(grant.slice);
  }
  books.memory_bytes += sign * placement.memory_bytes;
  for (const Countable& one : placement.countables) {
    for (Countable& free : books.countables) {
      if (free.name == one.name) free.amount += sign * one.amount;
    }
  }
}

// A device is never shared and sliced at once: what will be one is not offered as the other.
void close_mixed(FreeBooks& books, const Placement& placement) {
  // The hold alone would leave the rest of the device open to the other kind of use, so the whole
  // device is closed, not only what is held.
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    if (device >= books.devices.free_milli.size()) continue;
    const bool sliced = is_sliced(books.devices.slots_taken, device);
    if (!grant.is_slice() && !sliced) continue;
    books.devices.slots_taken.resize(books.devices.free_milli.size());
    books.devices.slots_taken[device] = ~SlotSet{0};
    books.devices.free_milli[device] = 0;
  }
}

void keep_least(FreeBooks& books, const FreeBooks& other) {
  auto& milli = books.devices.free_milli;
  for (std::size_t i = 0; i < milli.size(); ++i) {
    milli[i] = std::min(milli[i], other.devices.free_milli[i]);
  }
  const std::vector<SlotSet>& slots = other.devices.slots_taken;
  if (slots.size() > books.devices.slots_taken.size())
    books.devices.slots_taken.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) books.devices.slots_taken[i] |= slots[i];
  books.memory_bytes = std::min(books.memory_bytes, other.memory_bytes);
  for (std::size_t i = 0; i < books.countables.size(); ++i) {
    books.countables[i].amount = std::min(books.countables[i].amount, other.countables[i].amount);
  }
}

bool is_open_to(const State& state, const NodePlan& plan, const Claim& claim) {
  const JobSpec& spec = *claim.spec;
  // An exclusive job bears nobody beside it, and nobody comes beside it, even where amounts would
  // do.
  if (!is_open(state, {spec, claim.restart_nodes}, plan.windows, claim.from, claim.to))
    return false;
  return std::none_of(plan.holds.begin(), plan.holds.end(), [&](const Hold& hold) {
    return (spec.exclusive || hold.whole) && counts(hold, claim);
  });
}

void keep(std::set<NodeId>& nodes, NodeId node, bool in) {
  if (in) {
    nodes.insert(node);
  } else if (!nodes.empty()) {
    nodes.erase(node);
  }
}

void note_node(const State& state, Plan& plan, NodeId node, bool freed) {
  mark_stale(plan, node);
  keep(plan.foreign_ends, node, has_foreign_ends(state.nodes[node]));
  keep(plan.to_come, node, has_to_come(state.nodes[node]));
  // Less free on a node cannot let anybody start: it voids plans, but opens nothing.
  check_promises(plan, node);
  if (!freed) return;
  plan.freed.move_on();
  plan.looks = true;
}

// Whether its promise is another one.
bool note_job(const State& state, Plan& plan, JobId id) {
  plan.looks = true;
  const bool promised = note_promise(state, plan, id);
  const Job* job = state.find_job(id);
  if (job == nullptr || job->phase != JobPhase::kActive) return promised;
  for (const PlacementRecord& record : job->attempts.back().placements) {
    mark_stale(plan, record.placement->node);
    check_promises(plan, record.placement->node);
  }
  // Its limit may have been shortened: then others can be planned for earlier.
  plan.sooner.move_on();
  return promised;
}

}  // namespace

bool note_changes(const State& state, Plan& plan, const Touched& touched) {
  for (NodeId node : touched.taken) note_node(state, plan, node, false);
  for (NodeId node : touched.freed) note_node(state, plan, node, true);
  bool promised = false;
  for (JobId job : touched.jobs) promised = note_job(state, plan, job) || promised;
  // Quotas are no amounts of a node, but who was kept out by one may be let in now.
  if (touched.usage_fell) plan.freed.move_on();
  return promised;
}

void note_reserved(const State& state, Plan& plan, const Node& node) {
  if (!plan.reserves) return;
  // All that have joined since, whichever of them is asked about first.
  while (!plan.windows.holds(node.id)) {
    const NodeId next(static_cast<std::uint32_t>(plan.windows.size() + 1));
    plan.windows.push_back(windows_of(state, state.nodes[next]));
  }
}

void note_reservations(const State& state, Plan& plan) {
  note_reservations(state, windows_by_node(state), plan);
}

void note_reservations(const State& state, ById<NodeId, std::vector<Window>> windows, Plan& plan) {
  plan.boundary = next_boundary(state);
  plan.reserves = reserves(state);
  plan.windows = std::move(windows);
}

void note_promises(const State& state, Plan& plan) {
  for (const auto& [id, promise] : state.promises) {
    for (const Placement& placement : promise.placements) plan.promised[placement.node].insert(id);
  }
}

void note_to_come(const State& state, Plan& plan) {
  if (state.executors.empty()) return;
  for (const Node& node : state.nodes) {
    if (has_to_come(node)) plan.to_come.insert(node.id);
  }
}

const NodePlan& fresh_plan_of(const State& state, Plan& plan, NodeId node) {
  if (plan.nodes.size() < state.nodes.size()) plan.nodes.resize(state.nodes.size());
  NodePlan& it = plan.nodes[node];
  refresh(state, plan, node, it);
  return it;
}

void add_hold(NodePlan& node, const Hold& hold) {
  node.holds.push_back(hold);
  Hold from_now = hold;
  from_now.from = std::max(hold.from, node.steps.front().at);
  change(node.steps, from_now, -1);
}

bool counts(const Hold& hold, const Claim& claim) {
  // What an executor keeps for others gives way to nobody.
  if (hold.promised && !hold.foreign) {
    if (hold.job == claim.job || hold.from > claim.but_after) return false;
    if (claim.ignored != nullptr && claim.ignored->contains(hold.job)) return false;
  }
  return hold.from < claim.to && hold.to > claim.from;
}

std::optional<FreeBooks> free_during(const State& state, const NodePlan& plan, const Node& node,
                                     const Claim& claim) {
  if (!is_open_to(state, plan, claim)) return std::nullopt;
  FreeBooks books(node);
  bool promised = false;
  for (const Hold& hold : plan.holds) {
    promised = promised || (hold.promised && counts(hold, claim));
    if (hold.promised || hold.to > claim.from) continue;
    // By id, as cores are. keep_open takes off what is reserved since, or held by executors.
    books.cores |= hold.placement->cores;
    change_amounts(books, *hold.placement, +1);
  }
  // Cores are taken for the whole time: which of them a promise uses is known by id, and a core
  // that is free for a part of the time is of no use.
  for (const Hold& hold : plan.holds) {
    if (hold.promised && counts(hold, claim)) books.cores -= hold.placement->cores;
  }
  keep_open(state, node, claim.from, books);
  if (!promised) return books;
  // Amounts fall where a promise begins; the least of them counts.
  const FreeBooks at_first = books;
  const auto at = [&](Instant point) {
    FreeBooks then = at_first;
    // From the books at the start each time, as a running total would have to undo holds that end
    // between two points.
    for (const Hold& hold : plan.holds) {
      if (!hold.promised && hold.to > claim.from && hold.to <= point) {
        change_amounts(then, *hold.placement, +1);
      }
      if (!hold.promised || !counts(hold, claim) || hold.from > point || hold.to <= point) continue;
      change_amounts(then, *hold.placement, -1);
    }
    return then;
  };
  keep_least(books, at(claim.from));
  for (const Hold& hold : plan.holds) {
    if (!hold.promised || !counts(hold, claim)) continue;
    // Between two beginnings of promises amounts only rise, so these instants are all that have to
    // be looked at.
    if (hold.from > claim.from) keep_least(books, at(hold.from));
    close_mixed(books, *hold.placement);
  }
  return books;
}

Instant next_change(const NodePlan& plan, Instant at) {
  const auto step = std::upper_bound(plan.steps.begin(), plan.steps.end(), at,
                                     [](Instant t, const Step& each) { return t < each.at; });
  Instant next = step == plan.steps.end() ? kNever : step->at;
  for (const Window& window : plan.windows) {
    if (window.to > at) next = std::min(next, window.to);
  }
  return next;
}

bool holds_all(const FreeBooks& books, const Placement& placement) {
  if (!books.cores.contains(placement.cores)) return false;
  for (const DeviceGrant& grant : placement.devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    if (device >= books.devices.free_milli.size()) return false;
    const std::int32_t milli = books.devices.free_milli[device];
    if (milli < grant.share_milli) return false;
    const bool sliced = is_sliced(books.devices.slots_taken, device);
    if (!grant.is_slice() && sliced) return false;
    if (grant.is_slice() && !sliced && milli < kWholeDevice_milli) return false;
    if (sliced && (books.devices.slots_taken[device] & slots_of(grant.slice)) != 0) return false;
  }
  if (placement.memory_bytes > 0 && books.memory_bytes < placement.memory_bytes) return false;
  return std::all_of(
      placement.countables.begin(), placement.countables.end(),
      [&](const Countable& one) { return amount_of(books.countables, one.name) >= one.amount; });
}

Instant earliest_by_sums(const State& state, const NodePlan& plan, const NodeNeeds& needs,
                         const Guest& guest, Instant from, Span length) {
  const auto enough = [&](const NodeFree& free) {
    return free.gpus_milli >= needs.gpus_milli && free.cores >= needs.cores &&
           (needs.memory_bytes == 0 || free.memory_bytes >= needs.memory_bytes);
  };
  const std::vector<Step>& steps = plan.steps;
  auto first = std::upper_bound(steps.begin(), steps.end(), from,
                                [](Instant t, const Step& step) { return t < step.at; });
  auto i = static_cast<std::size_t>(first - steps.begin());
  if (i > 0) --i;
  // Start at the step that `from` lies in, not at the next: what is free there is free at `from`.
  Instant start = std::max(from, steps[i].at);
  while (true) {
    const Instant end = start + length;
    std::size_t j = i;
    // The first step always counts, however short the stay is: the job has to be able to start in
    // it.
    const auto counts = [&] { return j < steps.size() && (j == i || steps[j].at < end); };
    while (counts() && enough(steps[j].free)) ++j;
    // A step inside the stay lacks something. No start up to it can do, so the search goes on
    // behind it: each step is looked at once, though there may be several candidates for the start.
    if (counts()) {
      i = j + 1;
      if (i >= steps.size()) return kNever;
      start = steps[i].at;
      continue;
    }
    const Window* shut = nullptr;
    for (const Window& window : plan.windows) {
      if (window.from >= end || window.to <= start) continue;
      if (must_be_gone(state, guest, window, start)) shut = &window;
    }
    // Later windows are looked at once the start has moved behind this one.
    if (shut == nullptr) return start;
    if (shut->to == kNever) return kNever;
    start = shut->to;
    while (i + 1 < steps.size() && steps[i + 1].at <= start) ++i;
  }
}

}  // namespace dove::core
