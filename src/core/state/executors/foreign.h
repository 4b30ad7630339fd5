// What executors withhold from our work on a node: what they run for others, and nodes that they
// close.
//
// Pure; folded by core/state/executors/fold_executors.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// Node::backend where our agents run.
inline constexpr std::string_view kNative_backend = "native";
// The finding that a device is held by an executor and by somebody else, too.
inline constexpr std::string_view kForeign_check = "foreign";
// The cause of exits of tasks that an executor no longer runs and says nothing more about.
inline constexpr std::string_view kExecutor_lost = "executor_lost";

// Whether an agent of ours runs there. A node without one was registered by an executor
// (Node::backend is its name), runs what that executor starts, and is there as long as the executor
// is declared for it.
inline bool has_agent(const Node& node) {
  return node.backend.empty() || node.backend == kNative_backend;
}

// Whether the executor is declared for a node of that name.
bool names_node(const Executor& executor, std::string_view name);

// Null: it is not on the node.
const NodeExecutor* find_executor(const Node& node, std::string_view name);

// Whether it can be given a job to run there: it is up and answers.
bool takes_jobs(const NodeExecutor& executor);

// Whether the executor keeps new work of ours from the node: it is drained there, or no placeholder
// could be had.
bool closes_node(const NodeExecutor& executor);
// The first that does; null: none.
const NodeExecutor* closing_executor(const Node& node);
// Why it does, for people: "slurm: drained there (fan)".
std::string closing_text(const NodeExecutor& executor);

// Whether a job with that wish (a feature, or several joined by "|") may go to the node: its
// declaration or one of its executors says that it has such a feature.
bool meets(const Node& node, std::string_view wish);
// All such: those declared in their order, then the others ascending.
std::vector<std::string> features_of(const Node& node);

// Whether the job is one of an executor's users that starts there by itself: what it is given here
// is room for it, and it never runs here (docs/decisions/0047-room-for-jobs-of-slurm.md).
bool only_gets_room(const State& state, const JobSpec& spec);

// Programs of the first level hold what is kept for others later from the moment they hear of it,
// so a log of that level is folded that way.
inline constexpr std::int32_t kToComeLevel = 2;
// Whether the executor keeps it for others later, and it is free until then.
inline bool is_to_come(const NodeExecutor& executor, const ForeignAllocation& one) {
  return executor.knows_to_come && is_for_later(one);
}

// Calls visit(executor, allocation) for what executors run on the node for others now: without what
// is to come (is_to_come).
template <class Visit>
void each_foreign(const Node& node, Visit visit) {
  for (const NodeExecutor& executor : node.executors) {
    for (const ForeignAllocation& one : executor.foreign) {
      if (!is_to_come(executor, one)) visit(executor, one);
    }
  }
}
// The same in sums.
bool has_foreign(const Node& node);
CoreSet foreign_cores(const Node& node);
bool is_device_foreign(const Node& node, std::size_t device);
std::int64_t foreign_memory(const Node& node);

// Nobody has anything on the node.
inline bool is_idle(const Node& node) { return node.jobs.empty() && !has_foreign(node); }

// Whether an executor keeps something there for others later.
bool has_to_come(const Node& node);

// "slurm job 1234 of ada".
std::string foreign_text(const NodeExecutor& executor, const ForeignAllocation& allocation);

// "0,2".
std::string device_list(const std::vector<std::int32_t>& devices);

}  // namespace dove::core
