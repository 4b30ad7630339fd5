#include "core/state/executors/fold_executors.h"

#include <algorithm>

#include "core/state/books.h"
#include "core/state/executors/conflicts.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"
#include "core/state/executors/given_cores.h"
#include "core/state/executors/kept_reservations.h"
#include "core/state/executors/placeholders.h"
#include "core/state/executors/unwatched.h"
#include "core/state/fold.h"

namespace dove::core {
namespace {

auto place_of(Node& node, const std::string& executor) {
  return std::lower_bound(
      node.executors.begin(), node.executors.end(), executor,
      [](const NodeExecutor& each, const std::string& name) { return each.name < name; });
}

NodeExecutor* find_executor(State& state, NodeId id, const std::string& name) {
  Node* node = state.find_node(id);
  if (node == nullptr) return nullptr;
  const auto at = place_of(*node, name);
  return at == node->executors.end() || at->name != name ? nullptr : &*at;
}

auto place_in(std::vector<ForeignAllocation>& foreign, const std::string& id) {
  return std::lower_bound(
      foreign.begin(), foreign.end(), id,
      [](const ForeignAllocation& each, const std::string& key) { return each.id < key; });
}

// What is free on the node has changed.
void books_changed(State& state, Node& node) {
  // Conflicts first: what two executors claim is closed, and the books are rebuilt without it.
  settle_conflicts(state, node);
  if (node.inventory != nullptr) rebuild_books(state, node);
  state.changes.touch(node.id);
}

// For what is there already, too.
void want_all(State& state, const Node& node) {
  for (const JobId id : node.jobs) {
    Job* job = state.find_job(id);
    Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
    if (attempt == nullptr) continue;
    want_placeholders(state, node, id, attempt->number);
    state.changes.touch(id);
  }
}

// `also_own`: those of jobs that the executor runs, too.
void forget_placeholders(State& state, const std::string& executor, NodeId node, bool also_own) {
  std::erase_if(state.placeholders, [&](const auto& entry) {
    if (entry.first.executor != executor || entry.first.node != node) return false;
    const Job* job = state.find_job(entry.first.job);
    if (!also_own && job != nullptr && job->spec->executor == executor) return false;
    state.changes.touch(entry.first.job);  // it may have waited for this one
    return true;
  });
}

void leave_node(State& state, Node& node, const std::string& executor) {
  const auto at = place_of(node, executor);
  if (at == node.executors.end() || at->name != executor) return;
  node.executors.erase(at);
  forget_placeholders(state, executor, node.id, true);
  if (node.backend == executor) {
    // Nobody speaks for it any more.
    node.removed = true;
    set_contact(state, node, Contact::kLost);
  }
  books_changed(state, node);
}

void settle(State& state, Node& node, const Executor& executor) {
  // The host list decides, and may have changed since.
  if (!names_node(executor, node.name)) {
    return leave_node(state, node, executor.name);
  }
  auto at = place_of(node, executor.name);
  if (at == node.executors.end() || at->name != executor.name) {
    at = node.executors.insert(at, NodeExecutor{executor.name});
    // From now on it may give whole cores.
    if (node.inventory != nullptr) rebuild_books(state, node);
    if (node.backend == executor.name) {
      // Its own word brought it here. What it runs there comes with its next report.
      at->state = ExecutorNodeState::kDown;
      at->why = "not heard of yet";
    }
  }
  at->placeholders = executor.placeholders;
  at->knows_to_come = state.level >= kToComeLevel;
  // A new one is silent until it speaks: until then nothing is placed there.
  at->contact = state.standings[executor.name].contact;
  state.changes.touch(node.id);
  if (!executor.placeholders) forget_placeholders(state, executor.name, node.id, false);
  // What runs there already is protected as well: its place must not be given away by the other
  // scheduler.
  want_all(state, node);
}

// The report may be older than the state: since then, another job has got the cores.
bool has_to_wait(const State& state, const PlaceholderMoved& event) {
  return state.level > kFirstLevel && event.to == PlaceholderStage::kConfirmed &&
         pinned_job(state, {event.job, event.attempt, event.node, event.executor}, event.cores) !=
             nullptr;
}

void refuse(State& state, const PlaceholderMoved& event) {
  Job* job = state.find_job(event.job);
  Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
  if (attempt == nullptr || attempt->number != event.attempt) return;
  // Too late to be refused: it runs, or is being stopped.
  if (attempt->stage >= Stage::kStarting || attempt->stop_reason != StopReason::kNone) return;
  attempt->stop_reason = StopReason::kPlaceholder;
  avoid(*job, event.node);
}

}  // namespace

void declare_executor(State& state, const Executor& executor) {
  // Taken off under the old declaration and put back under the new, so that neither leaves a
  // remainder.
  count_all_foreign(state, executor.name, -1);
  state.executors[executor.name] = executor;
  state.standings.try_emplace(executor.name,
                              ExecutorStanding{ExecutorContact::kSilent, state.now, ""});
  for (Node& node : state.nodes) settle(state, node, executor);
  count_all_foreign(state, executor.name, +1);
  state.changes.note_declared();
}

void drop_executor(State& state, const std::string& name) {
  count_all_foreign(state, name, -1);
  if (state.executors.erase(name) == 0) return;
  state.standings.erase(name);
  drop_kept_reservations(state, name);
  for (Node& node : state.nodes) leave_node(state, node, name);
  state.changes.note_declared();
}

void settle_executors(State& state, Node& node) {
  if (state.executors.empty()) return;
  for (const auto& [name, executor] : state.executors) settle(state, node, executor);
  books_changed(state, node);
}

void raise_level(State& state, std::int32_t level) {
  if (level <= state.level) return;
  state.level = level;
  note_level(state);
  for (Node& node : state.nodes) {
    if (has_to_come(node)) books_changed(state, node);
  }
}

void note_level(State& state) {
  for (Node& node : state.nodes) {
    for (NodeExecutor& each : node.executors) each.knows_to_come = state.level >= kToComeLevel;
  }
}

void fold(State& state, const ForeignAllocationObserved& event) {
  NodeExecutor* executor = find_executor(state, event.node, event.executor);
  if (executor == nullptr) return;
  Node& node = *state.find_node(event.node);
  const auto at = place_in(executor->foreign, event.allocation.id);
  if (at != executor->foreign.end() && at->id == event.allocation.id) {
    // The same id with other contents: it grew or shrank.
    count_foreign(state, node, event.executor, *at, -1);
    *at = event.allocation;
  } else {
    executor->foreign.insert(at, event.allocation);
    charge_start(state, event.executor, event.allocation);
  }
  count_foreign(state, node, event.executor, event.allocation, +1);
  note_watched(state, event.executor);
  books_changed(state, node);
}

void fold(State& state, const ForeignAllocationEnded& event) {
  NodeExecutor* executor = find_executor(state, event.node, event.executor);
  if (executor == nullptr) return;
  const auto at = place_in(executor->foreign, event.id);
  if (at == executor->foreign.end() || at->id != event.id) return;
  Node& node = *state.find_node(event.node);
  count_foreign(state, node, event.executor, *at, -1);
  note_end(state, event.executor, *at);
  executor->foreign.erase(at);
  books_changed(state, node);
}

void fold(State& state, const ExecutorNodeObserved& event) {
  NodeExecutor* executor = find_executor(state, event.node, event.executor);
  if (executor == nullptr) return;
  executor->state = event.state;
  executor->why = event.why;
  if (executor->features != event.features) {
    executor->features = event.features;
    state.changes.note_declared();  // jobs that asked for one may have a place now, or none
  }
  state.changes.touch(event.node);
}

void fold(State& state, const ExecutorContactChanged& event) {
  const auto standing = state.standings.find(event.executor);
  if (standing == state.standings.end()) return;
  note_contact(state, standing->second, event.contact);
  standing->second.contact = event.contact;
  standing->second.since = state.now;
  standing->second.why = event.why;
  for (Node& node : state.nodes) {
    const auto at = place_of(node, event.executor);
    // Contact counts for the executor as a whole, on all of its nodes.
    if (at == node.executors.end() || at->name != event.executor) continue;
    at->contact = event.contact;
    state.changes.touch(node.id);
  }
}

void fold(State& state, const PlaceholderMoved& event) {
  const auto found =
      state.placeholders.find({event.job, event.attempt, event.node, event.executor});
  if (found == state.placeholders.end()) return;
  Placeholder& it = found->second;
  state.changes.touch(event.job);
  // Given back already: only that it is gone is of interest.
  if (it.stage == PlaceholderStage::kReleased) {
    if (event.to == PlaceholderStage::kGone) state.placeholders.erase(found);
    return;
  }
  // While its placement lives, one that is gone is wanted again.
  const bool is_lost = event.to == PlaceholderStage::kGone;
  const PlaceholderStage to = is_lost                     ? PlaceholderStage::kWanted
                              : has_to_wait(state, event) ? PlaceholderStage::kAsked
                                                          : event.to;
  it = {to, state.now, is_lost ? "" : event.id, event.why};
  if (to == PlaceholderStage::kRefused) refuse(state, event);
  if (to == PlaceholderStage::kConfirmed && !event.cores.empty()) {
    take_given_cores(state, found->first, event.cores);
  }
  // From its confirmation on the job is there.
  if (state.level > kFirstLevel && settle_conflicts(state, *state.find_node(event.node))) {
    state.changes.touch(event.node);
  }
}

}  // namespace dove::core
