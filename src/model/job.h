// A job: what somebody asks to have run. A JobSpec never changes after submission and is shared.
//
// It holds what deciding needs. What running needs (commands, environment, files) is an ExecSpec
// (model/exec.h), kept as a blob and referred to by digest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/people.h"
#include "model/resources.h"
#include "model/time.h"

namespace dove {

// Tasks of equal shape. A group of T tasks over `nodes` nodes gets per_task for each task and
// per_node for each node that it uses.
struct TaskGroup {
  std::string name = "main";
  std::int32_t tasks = 1;
  std::int32_t nodes_min = 0;       // 0: any number of nodes
  std::int32_t nodes_max = 0;       // 0: any number of nodes
  std::int32_t tasks_per_node = 0;  // 0: any; otherwise exactly this many on each node
  Request per_task;
  Request per_node;
  Affinity affinity = Affinity::kDefault;  // of a job in the ledger: kDefault is kSingle
  bool operator==(const TaskGroup&) const = default;
};

enum class DependencyKind { kAfter, kAfterOk, kAfterNotOk, kAfterAny, kAfterCorr, kSingleton };

// kAfter: the other has begun (or been cancelled) `delay` ago. kAfterOk, kAfterNotOk, kAfterAny: it
// ended well, badly, at all. kAfterCorr: the array element of the same index ended well.
// kSingleton: no earlier job of this name and user is left. An id of an array means all elements.
struct Dependency {
  DependencyKind kind = DependencyKind::kAfterAny;
  JobId job;  // none for kSingleton
  Span delay;
  bool operator==(const Dependency&) const = default;
};

// What the agents start when an attempt begins.
enum class LaunchMode {
  kEachTask,  // the command, once per task
  kBatch,     // the script, once, on the first node; it starts steps (srun, mpirun) by itself
};

struct ArraySpec {
  std::vector<std::int32_t> indices;  // ascending, each once; empty: not an array
  std::int32_t running_max = 0;       // 0: no limit
  bool operator==(const ArraySpec&) const = default;
};

// Whether a running attempt may be stopped so that another job gets its place.
enum class Preempt {
  kNone,
  kCheckpoint,  // it saves its work on checkpoint_signal
  kRestart,     // it loses its work, and its owner allows that
};

// Over how many nodes a gang goes when several numbers would do.
enum class Spread { kAny, kPack, kSpread };

// A secret (model/secret.h) that a job's tasks get, as a variable, as a file, or as both; one of
// them is set. `file` is a name in the folder that DOVE_SECRETS names.
struct SecretUse {
  std::string secret;
  std::string variable;
  std::string file;
  bool operator==(const SecretUse&) const = default;
};

// The part of a job that its agents and tasks know. In a launch order, `pool` and `time_limit` are
// those that hold where the job names none.
struct JobBrief {
  std::string name = "job";
  std::string user;     // the principal who submitted it
  std::string project;  // "" is the user's own
  std::string queue = "default";
  std::string pool;  // "" is the default pool
  LaunchMode launch = LaunchMode::kEachTask;
  Span time_limit;                     // 0: the pool's default, or none
  Span kill_grace = seconds(30);       // SIGTERM to SIGKILL
  std::int32_t checkpoint_signal = 0;  // sent when it is preempted; 0: SIGTERM at once
  Span checkpoint_grace;               // from that signal to SIGTERM
  std::vector<SecretUse> secrets;      // their values are not here: agents ask for them
  bool operator==(const JobBrief&) const = default;
};

struct JobSpec : JobBrief {
  std::int32_t priority = 0;                // higher first
  std::vector<TaskGroup> groups;            // at least one
  std::vector<Countable> cluster_requests;  // cluster-wide countables (licences, watts), by name
  Instant begin_at;                         // not started before; 0: at once
  std::vector<Dependency> dependencies;
  bool any_dependency = false;  // true: one of them is enough ("?" of sbatch)
  ArraySpec array;
  std::int32_t retries_max = 0;  // further attempts after a failure of the job's own
  bool requeue = true;           // run again after a lost node (does not count as a retry)
  bool hold = false;
  bool exclusive = false;                 // whole nodes
  std::vector<std::string> features;      // every node meets all: "a", or one of "a|b"
  std::vector<std::string> nodes_wanted;  // non-empty: only these nodes
  std::vector<std::string> nodes_excluded;
  std::string exec_digest;  // SHA-256 (hex) of the ExecSpec blob
  Preempt preempt = Preempt::kNone;
  Span slice_min;           // the shortest time an attempt runs before it is preempted
  Instant deadline;         // over by then, or not started at all; 0: none
  std::string reservation;  // runs inside it only; "": in none
  Spread spread = Spread::kAny;
  std::string domain;            // level of the topology that all its nodes share, "" is any
  bool domain_required = false;  // false: it may span units when no single one has room
  std::string label;             // by which other jobs of the same user name it
  std::vector<std::string> near_labels;   // only on nodes that hold a job of one of these labels
  std::vector<std::string> apart_labels;  // on no node that holds a job of one of these labels
  JobId parent;                           // the job whose token submitted it; none: a person did
  std::string executor;                   // that runs it (model/executor.h); "": our agents do
  std::string foreign_job;  // what it is there, where it waits for us to place it; "": it is ours
  // What is written to `mail_to` besides what its user has chosen; ascending.
  std::vector<NoticeAbout> mail_about;
  std::string mail_to;  // "": to the user's own addresses
  bool operator==(const JobSpec&) const = default;
};

enum class JobPhase { kWaiting, kActive, kEnded };

// How a job ended, for people, dependencies and exit codes.
enum class Outcome {
  kNone,  // not ended
  kCompleted,
  kFailed,  // a task's exit code, a signal, or a start that failed
  kCancelled,
  kTimedOut,
  kNodeLost,  // and not to be requeued
  kDependencyNeverMet,
  kDeadlineMissed,  // it can no longer end by its deadline
  kStoppedIdle,     // nobody used it, or it was as old as it may become
};

// The stages of an attempt. Nothing is started before all placements are prepared (the barrier).
enum class Stage { kAllocated, kPreparing, kBarrier, kStarting, kRunning, kStopping, kEnded };

// Why an attempt is being stopped or has ended.
enum class StopReason {
  kNone,
  kFinished,  // its tasks ended by themselves, well
  kTaskFailed,
  kCancelled,
  kTimeLimit,
  kNodeLost,
  kRequeued,  // by a person
  kLaunchFailed,
  kPreempted,
  kPreflight,    // a node or the network failed before anything was started
  kHung,         // its ranks reported no step any more
  kPlaceholder,  // an executor gave no placeholder for it
  kIdle,         // nobody used it, or it was as old as it may become
};

// What a preemption is for.
enum class Purpose {
  kNone,
  kStarvation,       // a job of higher priority has no place
  kFairness,         // its queue takes back what it is guaranteed, or what is its share
  kSlice,            // the time slice is over, another's turn has come
  kDefragmentation,  // the job fits elsewhere, the waiting one only here
  kOutage,           // the nodes are reserved from now on
};

// How one task ended. exit_code is meaningful when signal is 0.
struct TaskExit {
  Rank rank = 0;
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::string
      cause;  // "": by itself; else "fenced", "start_failed: ...", "shim_lost", "out_of_memory"
  bool ok() const { return exit_code == 0 && signal == 0 && cause.empty(); }
  bool operator==(const TaskExit&) const = default;
};

}  // namespace dove
