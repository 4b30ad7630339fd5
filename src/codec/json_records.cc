// Events, decisions and their envelope as JSON, for `dove events` and watchers.
#include "codec/json.h"
#include "codec/json_parts.h"
#include "codec/record.h"
#include "codec/words.h"

namespace dove::codec {
namespace {

Json placement_key(JobId job, AttemptNumber attempt, NodeId node) {
  return {{"job", job.value}, {"attempt", attempt}, {"node", node.value}};
}

Json write(const ControllerStarted& v) {
  return {{"build", v.build}, {"policy_digest", v.policy_digest}, {"level", v.level}};
}
Json write(const TimeReached&) { return Json::object(); }
Json write(const JobSubmitted& v) { return {{"spec", spec_json(*v.spec)}}; }
Json write(const JobCancelRequested& v) { return {{"job", v.job.value}}; }
Json write(const JobHeld& v) { return {{"job", v.job.value}}; }
Json write(const JobReleased& v) { return {{"job", v.job.value}}; }
Json write(const JobRequeueRequested& v) { return {{"job", v.job.value}}; }
Json write(const JobPriorityChanged& v) { return {{"job", v.job.value}, {"priority", v.priority}}; }
// Digests of tokens are of no use to those who look.
Json write(const NodeRegistered& v) {
  return {{"name", v.name},
          {"boot_id", v.boot_id},
          {"backend", v.backend},
          {"address", v.address},
          {"machine_id", v.machine_id},
          {"former_boot_id", v.former_boot_id},
          {"inventory", inventory_json(*v.inventory)}};
}
Json write(const NodeConnected& v) {
  return {{"node", v.node.value},
          {"boot_id", v.boot_id},
          {"version", v.version},
          {"preflight_port", v.preflight_port}};
}
Json write(const NodeDisconnected& v) { return {{"node", v.node.value}, {"silent", v.silent}}; }
Json write(const NodeRemoved& v) { return {{"node", v.node.value}}; }
Json write(const NodeDeclaredOff& v) { return {{"node", v.node.value}, {"why", v.why}}; }
Json write(const PlacementPrepared& v) { return placement_key(v.job, v.attempt, v.node); }
Json write(const PlacementStarted& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  if (v.started_ago.us != 0) object["started_ago_us"] = v.started_ago.us;
  return object;
}
Json write(const TaskEnded& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["exit"] = task_exit_json(v.exit);
  return object;
}
Json write(const PlacementEnded& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  Json exits = Json::array();
  for (const TaskExit& exit : v.exits) exits.push_back(task_exit_json(exit));
  object["exits"] = std::move(exits);
  object["cpu_us"] = v.cpu_us;
  object["memory_peak_bytes"] = v.memory_peak_bytes;
  if (v.started_ago.us != 0) object["started_ago_us"] = v.started_ago.us;
  return object;
}
Json write(const CheckpointTaken& v) { return {{"job", v.job.value}, {"attempt", v.attempt}}; }

Json write(const LaunchFailed& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["why"] = v.why;
  return object;
}
Json write(const UnknownTaskObserved& v) { return placement_key(v.job, v.attempt, v.node); }
Json write(const ObjectApplied& v) { return {{"object", declared_json(v.object)}}; }
Json write(const ObjectDeleted& v) { return {{"object_kind", v.kind}, {"name", v.name}}; }
Json write(const JoinTokenIssued& v) {
  Json object{{"node_name", v.node_name}};
  put_instant(object, "expires_at", v.expires_at);
  return object;
}
Json write(const BootArmed& v) {
  Json object{{"node_name", v.node_name}};
  put_instant(object, "until", v.until);
  return object;
}
Json write(const BootTokenIssued& v) {
  Json object{{"node_name", v.node_name}, {"address", v.address}};
  put_instant(object, "expires_at", v.expires_at);
  return object;
}
Json write(const CallsRefused& v) {
  return {{"who", v.who},
          {"address", v.address},
          {"operation", v.operation},
          {"code", v.code},
          {"times", v.times}};
}
Json write(const KeyIssued& v) { return {{"key", key_json(v.key)}}; }
Json write(const KeyRevoked& v) { return {{"id", v.id}}; }

Json write(const FindingReported& v) {
  Json object = finding_json(v.finding);
  object["node"] = v.node.value;
  return object;
}
Json write(const NodeActionRequested& v) {
  Json object{{"node", v.node.value}, {"action", word(v.action)}, {"now", v.now}, {"why", v.why}};
  put_instant(object, "by", v.by);
  return object;
}
Json write(const NodeTested& v) {
  return {{"node", v.node.value}, {"passed", v.passed}, {"evidence", v.evidence}};
}
Json write(const RemedyEnded& v) {
  return {{"node", v.node.value}, {"remedy", word(v.remedy)}, {"done", v.done}, {"why", v.why}};
}
Json write(const PreflightFailed& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  if (v.peer) object["peer"] = v.peer.value;
  object["check"] = v.check;
  object["evidence"] = v.evidence;
  return object;
}
Json write(const LinkBlamed& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["peer"] = v.peer.value;
  object["rank"] = v.rank;
  object["peer_rank"] = v.peer_rank;
  return object;
}
Json write(const ProgressReported& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["step"] = v.step;
  object["busy_us"] = v.busy.us;
  object["slowest"] = v.slowest;
  object["ranks"] = v.ranks;
  object["typical_us"] = v.typical.us;
  return object;
}
Json write(const HangObserved& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["rank"] = v.is_one ? Json(v.rank) : Json(nullptr);
  object["ranks"] = v.ranks;
  object["step"] = v.step;
  object["silent_us"] = v.silent.us;
  return object;
}
Json write(const HangEnded& v) { return {{"job", v.job.value}, {"attempt", v.attempt}}; }

Json write(const ForeignAllocationObserved& v) {
  Json object = foreign_json(v.allocation);
  object["executor"] = v.executor;
  object["node"] = v.node.value;
  return object;
}
Json write(const ForeignAllocationEnded& v) {
  return {{"executor", v.executor}, {"node", v.node.value}, {"id", v.id}};
}
Json write(const ForeignWatchResumed& v) {
  Json object{{"executor", v.executor}};
  put_instant(object, "from", v.from);
  return object;
}
Json write(const ForeignUseFound& v) {
  Json object{{"executor", v.executor}};
  put_instant(object, "gap", v.gap);
  put_instant(object, "from", v.from);
  put_instant(object, "until", v.until);
  Json uses = Json::array();
  for (const ForeignUse& use : v.uses) {
    Json one{{"id", use.id},
             {"account", use.account},
             {"cores", use.cores},
             {"gpus_milli", use.gpus_milli},
             {"memory_bytes", use.memory_bytes}};
    put_instant(one, "started_at", use.from);
    put_instant(one, "ended_at", use.to);
    uses.push_back(std::move(one));
  }
  object["uses"] = std::move(uses);
  return object;
}
Json write(const PlaceholderMoved& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["executor"] = v.executor;
  object["to"] = word(v.to);
  object["id"] = v.id;
  object["why"] = v.why;
  if (!v.cores.empty()) object["cores"] = v.cores.ids();
  return object;
}
Json write(const ExecutorContactChanged& v) {
  return {{"executor", v.executor}, {"contact", word(v.contact)}, {"why", v.why}};
}
Json write(const ExecutorNodeObserved& v) {
  return {{"executor", v.executor},
          {"node", v.node.value},
          {"state", word(v.state)},
          {"why", v.why},
          {"features", v.features}};
}

Json write(const IdleObserved& v) {
  Json object{{"job", v.job.value},
              {"attempt", v.attempt},
              {"check", word(v.check)},
              {"rule", v.rule},
              {"evidence", v.evidence}};
  put_span(object, "warning", v.warning);
  return object;
}
Json write(const IdleEnded& v) { return {{"job", v.job.value}, {"attempt", v.attempt}}; }
Json write(const JobKept& v) {
  Json object{{"job", v.job.value}};
  put_instant(object, "until", v.until);
  return object;
}
Json write(const ClockLeapt& v) { return {{"ahead_us", v.ahead.us}, {"slewed", v.slewed}}; }
Json write(const ClockAccepted&) { return Json::object(); }
Json write(const LevelRaised& v) { return {{"level", v.level}}; }
Json write(const ClusterRestored& v) { return {{"incarnation", v.incarnation}, {"why", v.why}}; }
Json write(const JobShared& v) { return {{"job", v.job.value}, {"users", v.users}}; }

Json write(const ExecStarted& v) {
  Json object = placement_key(v.job, v.attempt, v.node);
  object["rank"] = v.rank;
  object["terminal"] = v.terminal;
  object["program"] = v.program;
  return object;
}

template <class List>
Json placements_json(const List& list) {
  Json placements = Json::array();
  for (const Placement& placement : list) placements.push_back(placement_json(placement));
  return placements;
}

Json write(const Launch& v) {
  return {
      {"job", v.job.value}, {"attempt", v.attempt}, {"placements", placements_json(v.placements)}};
}
Json write(const Start& v) { return {{"job", v.job.value}, {"attempt", v.attempt}}; }
Json write(const Stop& v) {
  Json object{{"job", v.job.value}, {"attempt", v.attempt}, {"reason", word(v.reason)}};
  if (v.purpose != Purpose::kNone) object["purpose"] = word(v.purpose);
  if (v.beneficiary) object["beneficiary"] = v.beneficiary.value;
  return object;
}
Json write(const DeclareNodeLost& v) { return {{"node", v.node.value}}; }
Json write(const Requeue& v) {
  Json object{
      {"job", v.job.value}, {"reason", word(v.reason)}, {"counted", v.counted}, {"held", v.held}};
  if (v.pause.us > 0) object["pause_s"] = v.pause.us / 1'000'000;
  return object;
}
Json write(const EndJob& v) {
  return {{"job", v.job.value}, {"outcome", word(v.outcome)}, {"exit_code", v.exit_code}};
}
Json write(const ForgetJob& v) { return {{"job", v.job.value}}; }
Json write(const Promise& v) {
  Json object{{"job", v.job.value}, {"placements", placements_json(v.placements)}};
  put_instant(object, "start_at", v.start_at);
  if (v.cleared) object["cleared"] = true;
  return object;
}
Json write(const Withdraw& v) { return {{"job", v.job.value}}; }
Json write(const MoveNode& v) {
  return {{"node", v.node.value},
          {"to", word(v.to)},
          {"remedy", word(v.remedy)},
          {"why", v.why},
          {"who", v.who}};
}

}  // namespace

Json event_json(const Event& event) {
  Json object = std::visit([](const auto& v) { return write(v); }, event);
  object["kind"] = kind_name(event);
  return object;
}

Json decision_json(const Decision& decision) {
  Json object = std::visit([](const auto& v) { return write(v); }, decision);
  object["kind"] = kind_name(decision);
  return object;
}

Json cause_json(const Cause& v) {
  Json object = Json::object();
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) object[name] = text;
  };
  put("principal", v.principal);
  put("domain", v.domain);
  put("project", v.project);
  put("queue", v.queue);
  put("request_id", v.request_id);
  put("idempotency_key", v.idempotency_key);
  put("body_sha256", v.body_sha256);
  if (v.cause) object["cause"] = v.cause.value;
  return object;
}

}  // namespace dove::codec
