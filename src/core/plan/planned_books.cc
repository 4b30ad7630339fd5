// PlannedBooks (core/plan/plan.h): the nodes as a job finds them for as long as it stays.
#include <algorithm>

#include "core/place/lent.h"
#include "core/plan/lent_plan.h"
#include "core/plan/plan.h"
#include "core/state/executors/foreign.h"

namespace dove::core {

const Executor* PlannedBooks::lent_executor(const State& state, const JobSpec& spec) {
  if (spec.executor.empty()) return nullptr;
  const auto found = state.executors.find(spec.executor);
  return found == state.executors.end() || found->second.lendable.empty() ? nullptr
                                                                          : &found->second;
}

// Most nodes, most of the time: nothing is promised there, so the node's own books are right. No
// copy is made, and nothing is remembered: a search looks at thousands of such nodes.
bool PlannedBooks::is_plain(NodeId id) const {
  return claim_.from <= state_.now && claim_.spec->reservation.empty() && !plan_.is_reserved(id) &&
         !plan_.promised.contains(id) && !plan_.to_come.contains(id);
}

const PlannedBooks::Entry& PlannedBooks::entry(NodeId id) {
  const auto [at, added] = entries_.try_emplace(id);
  if (!added) return at->second;
  Entry& entry = at->second;
  const NodePlan& plan = plan_of(state_, plan_, id);
  const Node& node = state_.nodes[id];
  entry.books = lent_during(state_, plan, node, claim_);
  entry.open = entry.books && (lent_ == nullptr || is_lent(*lent_, node.name));
  entry.spare = std::any_of(plan.windows.begin(), plan.windows.end(), [&](const Window& window) {
    return window.of->spares_for > 0 && window.from < claim_.to && window.to > claim_.from;
  });
  return entry;
}

// What is free now is free for as long as the job stays, so no plan has to be made for what is lent
// of it.
const PlannedBooks::Entry& PlannedBooks::plain_entry(NodeId id) {
  const auto [at, added] = entries_.try_emplace(id);
  const Node& node = state_.nodes[id];
  if (added) at->second.books = lent_books(*lent_, node, &state_.jobs, view_of(node));
  return at->second;
}

const FreeBooks* PlannedBooks::books(NodeId node) {
  const bool plain = is_plain(node);
  if (plain && lent_ == nullptr) return nullptr;
  const Entry& it = plain ? plain_entry(node) : entry(node);
  return it.books ? &*it.books : nullptr;
}

bool PlannedBooks::is_open(NodeId node) {
  if (is_plain(node)) {
    const Node& it = state_.nodes[node];
    return (!claim_.spec->exclusive || is_idle(it)) && (!lent_ || is_lent(*lent_, it.name));
  }
  // Most nodes that somebody has reserved are closed to most jobs, whatever is free on them.
  if (plan_.is_reserved(node) && !core::is_open(state_, {*claim_.spec, claim_.restart_nodes},
                                                plan_.windows[node], claim_.from, claim_.to)) {
    return false;
  }
  return entry(node).open;
}

bool PlannedBooks::is_spare(NodeId node) { return !is_plain(node) && entry(node).spare; }

}  // namespace dove::core
