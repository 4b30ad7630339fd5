#include "codec/words.h"

#include <array>

#include "base/check.h"

namespace dove::codec {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 2> kLaunchModes{"each_task", "batch"};
constexpr std::array<Words, 6> kDependencyKinds{"after",    "afterok",   "afternotok",
                                                "afterany", "aftercorr", "singleton"};
constexpr std::array<Words, 3> kPhases{"waiting", "active", "ended"};
constexpr std::array<Words, 9> kOutcomes{"",
                                         "completed",
                                         "failed",
                                         "cancelled",
                                         "timed_out",
                                         "node_lost",
                                         "dependency_never_met",
                                         "deadline_missed",
                                         "stopped_idle"};
constexpr std::array<Words, 7> kStages{"allocated", "preparing", "barrier", "starting",
                                       "running",   "stopping",  "ended"};
constexpr std::array<Words, 13> kStopReasons{
    "",          "finished",    "task_failed",   "cancelled", "time_limit",
    "node_lost", "requeued",    "launch_failed", "preempted", "preflight",
    "hung",      "placeholder", "idle"};
constexpr std::array<Words, 6> kPlaceholderStages{"wanted",  "asked",    "confirmed",
                                                  "refused", "released", "gone"};
constexpr std::array<Words, 3> kExecutorContacts{"silent", "answering", "mute"};
constexpr std::array<Words, 3> kExecutorNodeStates{"up", "drained", "down"};
constexpr std::array<Words, 3> kPreempts{"never", "checkpoint", "restart"};
constexpr std::array<Words, 5> kRoles{"viewer", "member", "manager", "admin", "auditor"};
constexpr std::array<Words, 3> kNoticeWays{"mail", "webhook", "slack"};
constexpr std::array<Words, 7> kNoticeSubjects{"job_started",     "job_ended",      "job_failed",
                                               "job_starts_soon", "job_stops_soon", "session_idle",
                                               "node_sick"};
constexpr std::array<Words, 3> kIdleChecks{"input", "use", "lifetime"};
constexpr std::array<Words, 2> kJobVisibilities{"everyone", "members"};
constexpr std::array<Words, 3> kKeyKinds{"key", "session", "code"};
constexpr std::array<Words, 4> kKeyScopes{"read", "jobs", "all", "log"};
constexpr std::array<Words, 4> kRunAs{"node", "submitter", "agent", "virtual"};
constexpr std::array<Words, 3> kOnHang{"show", "requeue", "retry"};
constexpr std::array<Words, 3> kAffinities{"default", "single", "interleaved"};
constexpr std::array<Words, 3> kSpreads{"any", "pack", "spread"};
constexpr std::array<Words, 6> kPurposes{"",      "starvation",      "fairness",
                                         "slice", "defragmentation", "outage"};
constexpr std::array<Words, 4> kSeverities{"good", "warning", "fault", "critical"};
constexpr std::array<Words, 6> kRemedies{"none", "reset", "reboot", "replace", "upgrade", "agent"};
constexpr std::array<Words, 6> kLifeStages{"production", "onboard",  "test",
                                           "suspect",    "draining", "repair"};
constexpr std::array<Words, 3> kAnswers{"awaited", "done", "failed"};
constexpr std::array<Words, 7> kNodeActions{"none",          "drain",  "reboot", "upgrade",
                                            "upgrade_agent", "resume", "expel"};
constexpr std::array<Words, 4> kContacts{"connected", "broken", "silent", "lost"};
constexpr std::array<Words, 26> kReasons{
    "held",        "begin_time",        "dependency",  "array_limit", "queue_limit",
    "user_limit",  "cluster_limit",     "pool_closed", "time_limit",  "resources",
    "never_fits",  "nodes_unavailable", "ahead",       "excluded",    "project_limit",
    "domain",      "fragmented",        "labels",      "promised",    "reserved",
    "reservation", "no_plan",           "preemption",  "foreign",     "executor",
    "domain_limit"};
template <std::size_t N, class E>
std::string_view at(const std::array<Words, N>& words, E value) {
  const auto index = static_cast<std::size_t>(value);
  CHECK(index < N, "every enumerator has its word");
  return words[index];
}

}  // namespace

std::string_view word(LaunchMode mode) { return at(kLaunchModes, mode); }
std::string_view word(DependencyKind kind) { return at(kDependencyKinds, kind); }
std::string_view word(JobPhase phase) { return at(kPhases, phase); }
std::string_view word(Outcome outcome) { return at(kOutcomes, outcome); }
std::string_view word(Stage stage) { return at(kStages, stage); }
std::string_view word(StopReason reason) { return at(kStopReasons, reason); }
std::string_view word(Contact contact) { return at(kContacts, contact); }
std::string_view word(Preempt preempt) { return at(kPreempts, preempt); }
std::string_view word(Role role) { return at(kRoles, role); }
std::string_view word(JobVisibility visibility) { return at(kJobVisibilities, visibility); }
std::string_view word(NoticeBy by) { return at(kNoticeWays, by); }
std::string_view word(NoticeAbout about) { return at(kNoticeSubjects, about); }
std::string_view word(IdleCheck check) { return at(kIdleChecks, check); }
std::string_view word(KeyKind kind) { return at(kKeyKinds, kind); }
std::string_view word(KeyScope scope) { return at(kKeyScopes, scope); }
std::string_view word(RunAs run_as) { return at(kRunAs, run_as); }
std::string_view word(OnHang on_hang) { return at(kOnHang, on_hang); }
std::string_view word(Affinity affinity) { return at(kAffinities, affinity); }
std::string_view word(Spread spread) { return at(kSpreads, spread); }
std::string_view word(Purpose purpose) { return at(kPurposes, purpose); }
std::string_view word(Severity severity) { return at(kSeverities, severity); }
std::string_view word(Remedy remedy) { return at(kRemedies, remedy); }
std::string_view word(LifeStage stage) { return at(kLifeStages, stage); }
std::string_view word(Answer answer) { return at(kAnswers, answer); }
std::string_view word(NodeAction action) { return at(kNodeActions, action); }
std::string_view word(ReasonKind kind) { return at(kReasons, kind); }
std::string_view word(PlaceholderStage stage) { return at(kPlaceholderStages, stage); }
std::string_view word(ExecutorContact contact) { return at(kExecutorContacts, contact); }
std::string_view word(ExecutorNodeState state) { return at(kExecutorNodeStates, state); }

std::span<const std::string_view> launch_modes() { return kLaunchModes; }
std::span<const std::string_view> dependency_kinds() { return kDependencyKinds; }
std::span<const std::string_view> preempt_modes() { return kPreempts; }
std::span<const std::string_view> key_scopes() { return kKeyScopes; }
std::span<const std::string_view> run_as_modes() { return kRunAs; }
std::span<const std::string_view> on_hang_modes() { return kOnHang; }
std::span<const std::string_view> roles() { return kRoles; }
std::span<const std::string_view> job_visibilities() { return kJobVisibilities; }
std::span<const std::string_view> notice_ways() { return kNoticeWays; }
std::span<const std::string_view> notice_subjects() { return kNoticeSubjects; }
std::span<const std::string_view> affinities() { return kAffinities; }
std::span<const std::string_view> spreads() { return kSpreads; }
std::span<const std::string_view> severities() { return kSeverities; }
std::span<const std::string_view> remedies() { return kRemedies; }
std::span<const std::string_view> node_actions() { return kNodeActions; }
std::span<const std::string_view> executor_node_states() { return kExecutorNodeStates; }

}  // namespace dove::codec
