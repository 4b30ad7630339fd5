// The payloads of events and decisions as bytes, with the number, version and name of each kind.
//
// Numbers are never reused and never change: events are 1..99, decisions from 101. A record's
// version is the layout of its payload; a field that came with version 3 is
// `ar.since(3, value.field)`, and the kind's version here is raised to 3.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/model_fields.h"
#include "model/event.h"

namespace dove::codec {

struct KindInfo {
  std::uint64_t number;
  std::uint64_t version;
  std::string_view name;
};

template <class Payload>
constexpr KindInfo kind_of();

#define DOVE_RECORD_KIND(TYPE, NUMBER, VERSION)  \
  template <>                                    \
  constexpr KindInfo kind_of<TYPE>() {           \
    return KindInfo{(NUMBER), (VERSION), #TYPE}; \
  }

DOVE_RECORD_KIND(ControllerStarted, 1, 2)
DOVE_RECORD_KIND(TimeReached, 2, 1)
DOVE_RECORD_KIND(JobSubmitted, 3, 1)
DOVE_RECORD_KIND(JobCancelRequested, 4, 1)
DOVE_RECORD_KIND(JobHeld, 5, 1)
DOVE_RECORD_KIND(JobReleased, 6, 1)
DOVE_RECORD_KIND(JobRequeueRequested, 7, 1)
DOVE_RECORD_KIND(JobPriorityChanged, 8, 1)
DOVE_RECORD_KIND(NodeRegistered, 9, 2)
DOVE_RECORD_KIND(NodeConnected, 10, 2)
DOVE_RECORD_KIND(NodeDisconnected, 11, 1)
DOVE_RECORD_KIND(NodeRemoved, 12, 1)
DOVE_RECORD_KIND(PlacementPrepared, 13, 1)
DOVE_RECORD_KIND(PlacementStarted, 14, 2)
DOVE_RECORD_KIND(TaskEnded, 15, 1)
DOVE_RECORD_KIND(PlacementEnded, 16, 2)
DOVE_RECORD_KIND(LaunchFailed, 17, 1)
DOVE_RECORD_KIND(UnknownTaskObserved, 18, 1)
DOVE_RECORD_KIND(ObjectApplied, 19, 1)
DOVE_RECORD_KIND(ObjectDeleted, 20, 1)
DOVE_RECORD_KIND(JoinTokenIssued, 21, 1)
DOVE_RECORD_KIND(CheckpointTaken, 22, 1)
DOVE_RECORD_KIND(FindingReported, 23, 1)
DOVE_RECORD_KIND(NodeActionRequested, 24, 1)
DOVE_RECORD_KIND(NodeTested, 25, 1)
DOVE_RECORD_KIND(RemedyEnded, 26, 1)
DOVE_RECORD_KIND(PreflightFailed, 27, 1)
DOVE_RECORD_KIND(ProgressReported, 28, 2)
DOVE_RECORD_KIND(ExecStarted, 29, 1)
DOVE_RECORD_KIND(HangObserved, 30, 1)
DOVE_RECORD_KIND(HangEnded, 31, 1)
DOVE_RECORD_KIND(NodeDeclaredOff, 32, 1)
DOVE_RECORD_KIND(KeyIssued, 33, 1)
DOVE_RECORD_KIND(KeyRevoked, 34, 1)
DOVE_RECORD_KIND(CallsRefused, 35, 1)
DOVE_RECORD_KIND(ForeignAllocationObserved, 36, 1)
DOVE_RECORD_KIND(ForeignAllocationEnded, 37, 1)
DOVE_RECORD_KIND(PlaceholderMoved, 38, 2)
DOVE_RECORD_KIND(ExecutorContactChanged, 39, 1)
DOVE_RECORD_KIND(ExecutorNodeObserved, 40, 2)
DOVE_RECORD_KIND(IdleObserved, 41, 1)
DOVE_RECORD_KIND(IdleEnded, 42, 1)
DOVE_RECORD_KIND(JobKept, 43, 1)
DOVE_RECORD_KIND(JobShared, 44, 1)
DOVE_RECORD_KIND(ClusterRestored, 45, 1)
DOVE_RECORD_KIND(LinkBlamed, 46, 1)
DOVE_RECORD_KIND(ClockLeapt, 47, 1)
DOVE_RECORD_KIND(ClockAccepted, 48, 1)
DOVE_RECORD_KIND(LevelRaised, 49, 1)
DOVE_RECORD_KIND(ForeignWatchResumed, 50, 1)
DOVE_RECORD_KIND(ForeignUseFound, 51, 1)
DOVE_RECORD_KIND(BootArmed, 52, 1)
DOVE_RECORD_KIND(BootTokenIssued, 53, 1)
DOVE_RECORD_KIND(Launch, 101, 1)
DOVE_RECORD_KIND(Start, 102, 1)
DOVE_RECORD_KIND(Stop, 103, 2)
DOVE_RECORD_KIND(DeclareNodeLost, 104, 1)
DOVE_RECORD_KIND(Requeue, 105, 3)
DOVE_RECORD_KIND(EndJob, 106, 1)
DOVE_RECORD_KIND(ForgetJob, 107, 2)
DOVE_RECORD_KIND(Promise, 108, 2)
DOVE_RECORD_KIND(Withdraw, 109, 1)
DOVE_RECORD_KIND(MoveNode, 110, 1)

#undef DOVE_RECORD_KIND

// What follows may be written in layouts that this program does not know, or mean more to others.
template <class Ar>
void check_level(Ar& ar, std::int32_t level) {
  if constexpr (Ar::kReads) {
    if (level < kFirstLevel || level > ar.level()) {
      ar.fail_layout(static_cast<std::uint64_t>(level), static_cast<std::uint64_t>(ar.level()),
                     "the cluster");
    }
  }
}

// -- events --------------------------------------------------------------------------------------

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ControllerStarted>& v) {
  ar(v.build, v.policy_digest);
  ar.since(2, v.level);
  check_level(ar, v.level);
}
template <class Ar>
void fields(Ar&, typename Ar::template Of<TimeReached>&) {}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobSubmitted>& v) {
  ar(v.spec);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobCancelRequested>& v) {
  ar(v.job);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobHeld>& v) {
  ar(v.job);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobReleased>& v) {
  ar(v.job);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobRequeueRequested>& v) {
  ar(v.job);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobPriorityChanged>& v) {
  ar(v.job, v.priority);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeRegistered>& v) {
  ar(v.name, v.boot_id, v.backend, v.address, v.agent_token_sha256, v.inventory);
  ar.since(2, v.machine_id);
  ar.since(2, v.former_boot_id);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeConnected>& v) {
  ar(v.node, v.boot_id);
  ar.since(2, v.version);
  ar.since(2, v.preflight_port);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeDisconnected>& v) {
  ar(v.node, v.silent);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeRemoved>& v) {
  ar(v.node);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeDeclaredOff>& v) {
  ar(v.node, v.why);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PlacementPrepared>& v) {
  ar(v.job, v.attempt, v.node);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PlacementStarted>& v) {
  ar(v.job, v.attempt, v.node);
  ar.since(2, v.started_ago);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<TaskEnded>& v) {
  ar(v.job, v.attempt, v.node, v.exit);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PlacementEnded>& v) {
  ar(v.job, v.attempt, v.node, v.exits, v.cpu_us, v.memory_peak_bytes);
  ar.since(2, v.started_ago);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LaunchFailed>& v) {
  ar(v.job, v.attempt, v.node, v.why);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<UnknownTaskObserved>& v) {
  ar(v.node, v.job, v.attempt);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ObjectApplied>& v) {
  ar(v.object);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ObjectDeleted>& v) {
  ar(v.kind, v.name);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JoinTokenIssued>& v) {
  ar(v.sha256, v.node_name, v.expires_at);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<BootArmed>& v) {
  ar(v.node_name, v.until);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<BootTokenIssued>& v) {
  ar(v.sha256, v.node_name, v.expires_at, v.address);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<KeyIssued>& v) {
  ar(v.sha256, v.key);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<KeyRevoked>& v) {
  ar(v.id);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<CallsRefused>& v) {
  ar(v.who, v.address, v.operation, v.code, v.times);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<CheckpointTaken>& v) {
  ar(v.job, v.attempt);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<FindingReported>& v) {
  ar(v.node, v.finding);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeActionRequested>& v) {
  ar(v.node, v.action, v.now, v.by, v.why);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<NodeTested>& v) {
  ar(v.node, v.passed, v.evidence);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<RemedyEnded>& v) {
  ar(v.node, v.remedy, v.done, v.why);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PreflightFailed>& v) {
  ar(v.job, v.attempt, v.node, v.peer, v.check, v.evidence);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LinkBlamed>& v) {
  ar(v.job, v.attempt, v.node, v.peer, v.rank, v.peer_rank);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ProgressReported>& v) {
  ar(v.job, v.attempt, v.node, v.step, v.busy);
  ar.since(2, v.slowest);
  ar.since(2, v.ranks);
  ar.since(2, v.typical);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecStarted>& v) {
  ar(v.job, v.attempt, v.node, v.rank, v.terminal, v.program);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<HangObserved>& v) {
  ar(v.job, v.attempt, v.node, v.is_one, v.rank, v.ranks, v.step, v.silent);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<HangEnded>& v) {
  ar(v.job, v.attempt);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignAllocationObserved>& v) {
  ar(v.executor, v.node, v.allocation);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignAllocationEnded>& v) {
  ar(v.executor, v.node, v.id);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignWatchResumed>& v) {
  ar(v.executor, v.from);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForeignUseFound>& v) {
  ar(v.executor, v.gap, v.from, v.until, v.uses);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<PlaceholderMoved>& v) {
  ar(v.executor, v.job, v.attempt, v.node, v.to, v.id, v.why);
  ar.since(2, v.cores);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecutorContactChanged>& v) {
  ar(v.executor, v.contact, v.why);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecutorNodeObserved>& v) {
  ar(v.executor, v.node, v.state, v.why);
  ar.since(2, v.features);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<IdleObserved>& v) {
  ar(v.job, v.attempt, v.check, v.rule, v.evidence, v.warning);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<IdleEnded>& v) {
  ar(v.job, v.attempt);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobKept>& v) {
  ar(v.job, v.until);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<JobShared>& v) {
  ar(v.job, v.users);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ClockLeapt>& v) {
  ar(v.ahead, v.slewed);
}
template <class Ar>
void fields(Ar&, typename Ar::template Of<ClockAccepted>&) {}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LevelRaised>& v) {
  ar(v.level);
  check_level(ar, v.level);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ClusterRestored>& v) {
  ar(v.incarnation, v.why);
}

// -- decisions -----------------------------------------------------------------------------------

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Launch>& v) {
  ar(v.job, v.attempt, v.placements);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Start>& v) {
  ar(v.job, v.attempt);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Stop>& v) {
  ar(v.job, v.attempt, v.reason);
  ar.since(2, v.purpose);
  ar.since(2, v.beneficiary);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<DeclareNodeLost>& v) {
  ar(v.node);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Requeue>& v) {
  ar(v.job, v.reason, v.counted);
  ar.since(2, v.held);
  ar.since(3, v.pause);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<EndJob>& v) {
  ar(v.job, v.outcome, v.exit_code);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ForgetJob>& v) {
  ar(v.job);
  ar.since(2, v.counted);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Promise>& v) {
  ar(v.job, v.start_at, v.placements);
  ar.since(2, v.cleared);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<Withdraw>& v) {
  ar(v.job);
}
template <class Ar>
void fields(Ar& ar, typename Ar::template Of<MoveNode>& v) {
  ar(v.node, v.to, v.remedy, v.why, v.who);
}

}  // namespace dove::codec
