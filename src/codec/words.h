// The words by which the API, the CLI and declared files call what an enumeration means.
//
// Pure. The same word in JSON, tables, filters and text.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/state.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reason.h"

namespace dove::codec {

std::string_view word(LaunchMode mode);      // "each_task" "batch"
std::string_view word(DependencyKind kind);  // "after" "afterok" ... "singleton"
std::string_view word(JobPhase phase);       // "waiting" "active" "ended"
std::string_view word(Outcome outcome);      // "" "completed" "failed" ... "dependency_never_met"
std::string_view word(Stage stage);          // "allocated" ... "ended"
std::string_view word(StopReason reason);    // "" "finished" "task_failed" ...
std::string_view word(Contact contact);      // "connected" "broken" "silent" "lost"
std::string_view word(core::PlacementStage stage);  // "ordered" "prepared" "started" "ended"
std::string_view word(Preempt preempt);             // "never" "checkpoint" "restart"
std::string_view word(Spread spread);               // "any" "pack" "spread"
std::string_view word(Purpose purpose);             // "" "starvation" "fairness" ...
std::string_view word(ReasonKind kind);             // "held" "begin_time" ...

// What people call where a job is: waiting, held, preparing, running, stopping, or its outcome.
std::string_view state_word(const core::Job& job);
// ready, drained (nothing starts), draining (and something still runs), broken, silent, lost,
// removed.
std::string_view state_word(const core::Node& node);

// All words of an enumeration, in its order.
std::span<const std::string_view> launch_modes();
std::span<const std::string_view> dependency_kinds();
std::span<const std::string_view> preempt_modes();
std::span<const std::string_view> spreads();
// All that state_word(Job) can give.
std::span<const std::string_view> job_states();

}  // namespace dove::codec
