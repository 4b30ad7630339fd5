// The words by which the API, the CLI and declared files call what an enumeration means.
//
// Pure. The same word in JSON, tables, filters and text.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/declared.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/job.h"
#include "model/key.h"
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
std::string_view word(Preempt preempt);      // "never" "checkpoint" "restart"
std::string_view word(RunAs run_as);         // "node" "submitter" "agent" "virtual"
std::string_view word(Role role);            // "viewer" ... "auditor"
std::string_view word(JobVisibility visibility);  // "everyone" "members"
std::string_view word(KeyKind kind);              // "key" "session" "code"
std::string_view word(NoticeBy by);               // "mail" "webhook" "slack"
std::string_view word(NoticeAbout about);         // "job_started" ... "node_sick"
std::string_view word(IdleCheck check);           // "input" "use" "lifetime"
std::string_view word(KeyScope scope);            // "read" "jobs" "all" "log"
std::string_view word(OnHang on_hang);            // "show" "requeue" "retry"
std::string_view word(Affinity affinity);         // "default" "single" "interleaved"
std::string_view word(Spread spread);             // "any" "pack" "spread"
std::string_view word(Purpose purpose);           // "" "starvation" "fairness" ...
std::string_view word(Severity severity);         // "good" "warning" "fault" "critical"
std::string_view word(Remedy remedy);             // "none" "reset" "reboot" ...
std::string_view word(LifeStage stage);           // "production" "onboard" "test" ...
std::string_view word(Answer answer);             // "awaited" "done" "failed"
std::string_view word(NodeAction action);         // "none" "drain" "reboot" ...
std::string_view word(ReasonKind kind);           // "held" "begin_time" ...
std::string_view word(PlaceholderStage stage);    // "wanted" "asked" ... "gone"
std::string_view word(ExecutorContact contact);   // "silent" "answering" "mute"
std::string_view word(ExecutorNodeState state);   // "up" "drained" "down"

// All words of an enumeration, in its order.
std::span<const std::string_view> launch_modes();
std::span<const std::string_view> dependency_kinds();
std::span<const std::string_view> preempt_modes();
std::span<const std::string_view> run_as_modes();
std::span<const std::string_view> key_scopes();
std::span<const std::string_view> on_hang_modes();
std::span<const std::string_view> roles();
std::span<const std::string_view> job_visibilities();
std::span<const std::string_view> notice_ways();
std::span<const std::string_view> notice_subjects();
std::span<const std::string_view> affinities();
std::span<const std::string_view> spreads();
std::span<const std::string_view> severities();
std::span<const std::string_view> remedies();
std::span<const std::string_view> node_actions();
std::span<const std::string_view> executor_node_states();

}  // namespace dove::codec
