// The vocabulary of what happens (events, past tense) and what is decided (decisions, imperative).
//
// Both go into the log and both are folded into the state (core/state/state.h). Whoever adds a
// payload or a field follows docs/recipes/event.md: codec/record gives it a number, a version and
// an upgrade.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/choice.h"
#include "model/declared.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/idle.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/key.h"
#include "model/level.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/time.h"

namespace dove {

// -- events --------------------------------------------------------------------------------------

// A controller opened the log: every node gets a fresh grace, which is that of an outage until it
// is heard of; orders of older epochs are void.
struct ControllerStarted {
  std::string build;                 // digest of the program
  std::string policy_digest;         // of the passes and policies in use
  std::int32_t level = kFirstLevel;  // of the cluster (model/level.h)
  bool operator==(const ControllerStarted&) const = default;
};

// A wake_at has come. The only way in which time passes.
struct TimeReached {
  bool operator==(const TimeReached&) const = default;
};

// Gets the next job id (an array: one per element, consecutive). Already checked by admission.
struct JobSubmitted {
  std::shared_ptr<const JobSpec> spec;
  bool operator==(const JobSubmitted& o) const { return *spec == *o.spec; }
};

struct JobCancelRequested {
  JobId job;
  bool operator==(const JobCancelRequested&) const = default;
};
struct JobHeld {
  JobId job;
  bool operator==(const JobHeld&) const = default;
};
struct JobReleased {
  JobId job;
  bool operator==(const JobReleased&) const = default;
};
// A person asks for another attempt: of an active job after stopping it, of an ended one anew.
struct JobRequeueRequested {
  JobId job;
  bool operator==(const JobRequeueRequested&) const = default;
};
struct JobPriorityChanged {
  JobId job;
  std::int32_t priority = 0;
  bool operator==(const JobPriorityChanged&) const = default;
};

// A node joined (a one-time token's digest is in the envelope's cause) or came back with another
// inventory. A new boot id proves that nothing of its former life is running when the same machine
// says it with the node's own token, and knows the boot id that it had before. Whoever else comes
// under the node's name is admitted once the node is lost (core/admit).
struct NodeRegistered {
  std::string name;
  std::string boot_id;
  std::string backend = "native";
  std::string address;  // where other nodes reach its tasks
  std::string agent_token_sha256;
  std::shared_ptr<const Inventory> inventory;
  std::string machine_id = {};      // digest of what the hardware says of itself; "": not known
  std::string former_boot_id = {};  // with which its agent was last in a session; "": never
  bool operator==(const NodeRegistered& o) const {
    return name == o.name && boot_id == o.boot_id && backend == o.backend && address == o.address &&
           agent_token_sha256 == o.agent_token_sha256 && *inventory == *o.inventory &&
           machine_id == o.machine_id && former_boot_id == o.former_boot_id;
  }
};
struct NodeConnected {
  NodeId node;
  std::string boot_id;
  std::string version = {};         // of its agent's program
  std::int32_t preflight_port = 0;  // where other agents test the network to it; 0: nowhere
  bool operator==(const NodeConnected&) const = default;
};
struct NodeDisconnected {
  NodeId node;
  bool silent = false;  // false: the connection was closed or reset
  bool operator==(const NodeDisconnected&) const = default;
};
// An administrator says that the machine is gone for good and nothing runs on it.
struct NodeRemoved {
  NodeId node;
  bool operator==(const NodeRemoved&) const = default;
};

// An administrator says that the machine is off, so that nothing runs on it. It may come back.
struct NodeDeclaredOff {
  NodeId node;
  std::string why;
  bool operator==(const NodeDeclaredOff&) const = default;
};

// Reports of executors, each about one placement (job, attempt, node). Repeats change nothing.
struct PlacementPrepared {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  bool operator==(const PlacementPrepared&) const = default;
};
struct PlacementStarted {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  Span started_ago = {};  // when its agent tells it late: so long before; else 0
  bool operator==(const PlacementStarted&) const = default;
};
// One task ended while others of the placement go on.
struct TaskEnded {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  TaskExit exit;
  bool operator==(const TaskEnded&) const = default;
};
// Nothing of the attempt is left on the node: all exits not yet told, and the proof that frees it.
struct PlacementEnded {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  std::vector<TaskExit> exits;
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
  Span started_ago = {};  // before it is told; 0: nothing was started, or it is not known
  bool operator==(const PlacementEnded&) const = default;
};
// An order could not be carried out on the node; nothing was started there.
struct LaunchFailed {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  std::string why;
  bool operator==(const LaunchFailed&) const = default;
};
// The world disagrees: the node reports work that the ledger does not know (invariant 6).
struct UnknownTaskObserved {
  NodeId node;
  JobId job;
  AttemptNumber attempt = 0;
  bool operator==(const UnknownTaskObserved&) const = default;
};

struct ObjectApplied {
  Declared object;
  bool operator==(const ObjectApplied&) const = default;
};
struct ObjectDeleted {
  std::string kind;  // "pool", "queue", "node", "limit", "user", "project", "reservation",
                     // "domain", "group", "binding", "executor", "idle_rule", "app",
                     // "settings", "secret", "boot_config"
  std::string name;
  bool operator==(const ObjectDeleted&) const = default;
};

// One-time permission for a node to join; used up by the NodeRegistered that names it.
struct JoinTokenIssued {
  std::string sha256;
  std::string node_name;  // "" : any
  Instant expires_at;
  bool operator==(const JoinTokenIssued&) const = default;
};

// issued_at is the record's own.
struct KeyIssued {
  std::string sha256;
  Key key;
  bool operator==(const KeyIssued&) const = default;
};
struct KeyRevoked {
  std::string id;
  bool operator==(const KeyRevoked&) const = default;
};
// The same refusal, so many times since the last record of it.
struct CallsRefused {
  std::string who;        // a user, "agent:<node>"; "": nobody that is known
  std::string address;    // of the caller, without its port
  std::string operation;  // operationId
  std::string code;       // "key_scope"
  std::int64_t times = 1;
  bool operator==(const CallsRefused&) const = default;
};

// The job has saved its work: what it did before is not lost when it is stopped.
struct CheckpointTaken {
  JobId job;
  AttemptNumber attempt = 0;
  bool operator==(const CheckpointTaken&) const = default;
};

// A check's finding has changed. kGood closes what was open.
struct FindingReported {
  NodeId node;
  Finding finding;
  bool operator==(const FindingReported&) const = default;
};
// Replaces a former request for the node; kResume takes it back and ends drain and repair.
struct NodeActionRequested {
  NodeId node;
  NodeAction action = NodeAction::kNone;
  bool now = false;
  Instant by;
  std::string why;
  bool operator==(const NodeActionRequested&) const = default;
};
// What a node was told to do in stage kTest and kRepair is over.
struct NodeTested {
  NodeId node;
  bool passed = false;
  std::string evidence;
  bool operator==(const NodeTested&) const = default;
};
struct RemedyEnded {
  NodeId node;
  Remedy remedy = Remedy::kNone;
  bool done = false;
  std::string why;
  bool operator==(const RemedyEnded&) const = default;
};
// The node, or the way from it to `peer`, failed what is tried before a gang starts. Nothing of the
// attempt was started there.
struct PreflightFailed {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  NodeId peer;  // none: the node itself
  std::string check;
  std::string evidence;
  bool operator==(const PreflightFailed&) const = default;
};
// A task of a running attempt says that a collective with a task on `peer` failed or timed out.
struct LinkBlamed {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  NodeId peer;         // another node of the attempt
  Rank rank = 0;       // that says so, on `node`
  Rank peer_rank = 0;  // on `peer`
  bool operator==(const LinkBlamed&) const = default;
};
// How far the tasks of a placement are, as they say themselves; told now and then, not each step.
struct ProgressReported {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  std::int64_t step = 0;   // of the task there that is behind
  Span busy;               // of the slowest: for one step, without waiting, the median lately
  Rank slowest = 0;        // that one
  std::int32_t ranks = 1;  // the number of tasks there that reported
  Span typical = {};       // the same of half of them at least; 0: of a time when it was not told
  bool operator==(const ProgressReported&) const = default;
};
// No rank of a running attempt has reported a step for `silent`. When all others wait for one rank,
// it is that one, on `node`; else `node` is that of the first rank.
struct HangObserved {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  bool is_one = false;
  Rank rank = 0;  // when it is one
  std::int32_t ranks = 0;
  std::int64_t step = 0;  // the last one: of that rank, or the highest of all
  Span silent;
  bool operator==(const HangObserved&) const = default;
};
// A rank reported a step again.
struct HangEnded {
  JobId job;
  AttemptNumber attempt = 0;
  bool operator==(const HangEnded&) const = default;
};

// A user began a command in a running task (`dove exec`); the cause names the user. Only the
// command's program is kept, because its arguments may hold secrets.
struct ExecStarted {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  Rank rank = 0;
  bool terminal = false;
  std::string program;
  bool operator==(const ExecStarted&) const = default;
};

// An executor runs this on the node for somebody else; a former one of that id is replaced.
struct ForeignAllocationObserved {
  std::string executor;
  NodeId node;
  ForeignAllocation allocation;
  bool operator==(const ForeignAllocationObserved&) const = default;
};
struct ForeignAllocationEnded {
  std::string executor;
  NodeId node;
  std::string id;
  bool operator==(const ForeignAllocationEnded&) const = default;
};
// What the executor says of a placeholder: kAsked, kConfirmed, kRefused or kGone.
struct PlaceholderMoved {
  std::string executor;
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  PlaceholderStage to = PlaceholderStage::kAsked;
  std::string id;  // in the executor
  std::string why;
  CoreSet cores = {};  // of the node, that it holds when it is confirmed; empty: not known
  bool operator==(const PlaceholderMoved&) const = default;
};
struct ExecutorContactChanged {
  std::string executor;
  ExecutorContact contact = ExecutorContact::kSilent;
  std::string why;
  bool operator==(const ExecutorContactChanged&) const = default;
};
struct ExecutorNodeObserved {
  std::string executor;
  NodeId node;
  ExecutorNodeState state = ExecutorNodeState::kUp;
  std::string why;                         // as its administrators say it
  std::vector<std::string> features = {};  // that jobs may ask for there; ascending
  bool operator==(const ExecutorNodeObserved&) const = default;
};

// The log goes on from a backup: what happened after its last record is not known here. Agents may
// hold work that this log never decided.
struct ClusterRestored {
  std::int64_t incarnation = 0;  // one more than before
  std::string why;
  bool operator==(const ClusterRestored&) const = default;
};

// The clock of the leading controller's machine is not where the log's instants are: they go on by
// the steady clock.
struct ClockLeapt {
  Span ahead;           // of the instants; 0: they follow the machine's clock again
  bool slewed = false;  // taken over bit by bit; else not, until somebody says yes
  bool operator==(const ClockLeapt&) const = default;
};
// Somebody says that the machine's clock is right.
struct ClockAccepted {
  bool operator==(const ClockAccepted&) const = default;
};
// From this record on the log is written at that level (model/level.h).
struct LevelRaised {
  std::int32_t level = kFirstLevel;
  bool operator==(const LevelRaised&) const = default;
};

struct EventKinds {
  using Variant = std::variant<
      ControllerStarted, TimeReached, JobSubmitted, JobCancelRequested, JobHeld, JobReleased,
      JobRequeueRequested, JobPriorityChanged, NodeRegistered, NodeConnected, NodeDisconnected,
      NodeRemoved, PlacementPrepared, PlacementStarted, TaskEnded, PlacementEnded, LaunchFailed,
      UnknownTaskObserved, ObjectApplied, ObjectDeleted, JoinTokenIssued, CheckpointTaken,
      FindingReported, NodeActionRequested, NodeTested, RemedyEnded, PreflightFailed,
      ProgressReported, ExecStarted, HangObserved, HangEnded, NodeDeclaredOff, KeyIssued,
      KeyRevoked, CallsRefused, ForeignAllocationObserved, ForeignAllocationEnded, PlaceholderMoved,
      ExecutorContactChanged, ExecutorNodeObserved, IdleObserved, IdleEnded, JobKept, JobShared,
      ClusterRestored, LinkBlamed, ClockLeapt, ClockAccepted, LevelRaised, ForeignWatchResumed,
      ForeignUseFound, BootArmed, BootTokenIssued>;
};
extern template class Choice<EventKinds>;
using Event = Choice<EventKinds>;

// -- decisions -----------------------------------------------------------------------------------

// Give an attempt its places. Nodes prepare; if there is one placement only, it also starts.
struct Launch {
  JobId job;
  AttemptNumber attempt = 0;
  std::vector<SharedPlacement> placements;  // ascending by node_rank
  bool operator==(const Launch&) const = default;
};
// The barrier of a gang has been passed: start what was prepared.
struct Start {
  JobId job;
  AttemptNumber attempt = 0;
  bool operator==(const Start&) const = default;
};
// SIGTERM, the job's grace, SIGKILL, on all nodes where the attempt is not ended.
struct Stop {
  JobId job;
  AttemptNumber attempt = 0;
  StopReason reason = StopReason::kNone;
  Purpose purpose = Purpose::kNone;  // of a preemption
  JobId beneficiary = {};            // who gets the place; none without a preemption
  bool operator==(const Stop&) const = default;
};
// A waiting job is to have these places from `start_at` on: nothing is started that would still
// hold them then. Replaces an earlier promise to the job; its launch keeps it.
struct Promise {
  JobId job;
  Instant start_at;
  std::vector<Placement> placements;
  bool cleared = false;  // running jobs were stopped to make room: it gives way to nobody
  bool operator==(const Promise&) const = default;
};
// The promise can no longer be kept, or is not needed.
struct Withdraw {
  JobId job;
  bool operator==(const Withdraw&) const = default;
};
// The fence has passed: what the node held is free, its placements count as ended.
struct DeclareNodeLost {
  NodeId node;
  bool operator==(const DeclareNodeLost&) const = default;
};
// The attempt is over on all nodes; the job waits for its next one.
struct Requeue {
  JobId job;
  StopReason reason = StopReason::kNone;
  bool counted = false;  // against retries_max
  bool held = false;     // until somebody releases it: requeued too often in a row
  Span pause = {};       // before its next start, after several that failed; 0: none
  bool operator==(const Requeue&) const = default;
};
struct EndJob {
  JobId job;
  Outcome outcome = Outcome::kNone;
  std::int32_t exit_code = 0;  // highest of its tasks; 128 + signal for a signal
  bool operator==(const EndJob&) const = default;
};
// Retention: the ended job leaves the state. Its records stay in the log until archived.
struct ForgetJob {
  JobId job;
  bool counted = false;  // what it held stays in State::forgotten; false: of a time without that
  bool operator==(const ForgetJob&) const = default;
};

// The next stage of the node's life. kTest and kRepair are orders to its agent.
struct MoveNode {
  NodeId node;
  LifeStage to = LifeStage::kProduction;
  Remedy remedy = Remedy::kNone;
  std::string why;
  std::string who;  // asked for it; "": nobody
  bool operator==(const MoveNode&) const = default;
};

struct DecisionKinds {
  using Variant = std::variant<Launch, Start, Stop, DeclareNodeLost, Requeue, EndJob, ForgetJob,
                               Promise, Withdraw, MoveNode>;
};
extern template class Choice<DecisionKinds>;
using Decision = Choice<DecisionKinds>;

// -- envelope ------------------------------------------------------------------------------------

// Who, why, and under which request. Empty fields cost nothing in the log.
struct Cause {
  std::string principal;  // user, "agent:<node>", or "controller"
  std::string domain;
  std::string project;
  std::string queue;
  std::string request_id;
  std::string idempotency_key;
  std::string body_sha256;  // digest of the body sent under that key
  Seq cause;                // the record that led to this one; none for inputs
  bool operator==(const Cause&) const = default;
};

// An event as it stands in the log. All events and decisions of a batch share its instant.
struct StampedEvent {
  Event event;
  Cause cause;
};

}  // namespace dove
