// The last enumerator of every enumeration that the log holds.
//
// Whoever adds an enumerator adds it at the end and names it here; older programs then refuse
// records that hold it, as they must.
#pragma once

#include "codec/bytes.h"
#include "model/declared.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/job.h"
#include "model/key.h"
#include "model/node.h"

namespace dove::codec {

template <>
constexpr DependencyKind last_of<DependencyKind>() {
  return DependencyKind::kSingleton;
}
template <>
constexpr LaunchMode last_of<LaunchMode>() {
  return LaunchMode::kBatch;
}
template <>
constexpr Preempt last_of<Preempt>() {
  return Preempt::kRestart;
}
template <>
constexpr KeyScope last_of<KeyScope>() {
  return KeyScope::kLog;
}
template <>
constexpr NoticeBy last_of<NoticeBy>() {
  return NoticeBy::kSlack;
}
template <>
constexpr NoticeAbout last_of<NoticeAbout>() {
  return NoticeAbout::kNodeSick;
}
template <>
constexpr IdleCheck last_of<IdleCheck>() {
  return IdleCheck::kLifetime;
}
template <>
constexpr Role last_of<Role>() {
  return Role::kAuditor;
}
template <>
constexpr JobVisibility last_of<JobVisibility>() {
  return JobVisibility::kMembers;
}
template <>
constexpr KeyKind last_of<KeyKind>() {
  return KeyKind::kCode;
}
template <>
constexpr RunAs last_of<RunAs>() {
  return RunAs::kVirtual;
}
template <>
constexpr PoolSwitch last_of<PoolSwitch>() {
  return PoolSwitch::kOn;
}
template <>
constexpr OnHang last_of<OnHang>() {
  return OnHang::kRetry;
}
template <>
constexpr Affinity last_of<Affinity>() {
  return Affinity::kInterleaved;
}
template <>
constexpr Spread last_of<Spread>() {
  return Spread::kSpread;
}
template <>
constexpr Purpose last_of<Purpose>() {
  return Purpose::kOutage;
}
template <>
constexpr JobPhase last_of<JobPhase>() {
  return JobPhase::kEnded;
}
template <>
constexpr Outcome last_of<Outcome>() {
  return Outcome::kStoppedIdle;
}
template <>
constexpr Stage last_of<Stage>() {
  return Stage::kEnded;
}
template <>
constexpr StopReason last_of<StopReason>() {
  return StopReason::kIdle;
}
template <>
constexpr Contact last_of<Contact>() {
  return Contact::kLost;
}
template <>
constexpr Severity last_of<Severity>() {
  return Severity::kCritical;
}
template <>
constexpr Remedy last_of<Remedy>() {
  return Remedy::kAgent;
}
template <>
constexpr LifeStage last_of<LifeStage>() {
  return LifeStage::kRepair;
}
template <>
constexpr Answer last_of<Answer>() {
  return Answer::kFailed;
}
template <>
constexpr NodeAction last_of<NodeAction>() {
  return NodeAction::kExpel;
}
template <>
constexpr PlaceholderStage last_of<PlaceholderStage>() {
  return PlaceholderStage::kGone;
}
template <>
constexpr ExecutorContact last_of<ExecutorContact>() {
  return ExecutorContact::kMute;
}
template <>
constexpr ExecutorNodeState last_of<ExecutorNodeState>() {
  return ExecutorNodeState::kDown;
}

}  // namespace dove::codec
