// State is everything the brain knows: the fold of all logged events and decisions.
//
// Pure data, no clock, no threads. The controller owns the State that decides. The server folds its
// own copy from committed records and reads that; recovery, replay and simulation fold theirs. The
// owner uses it from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/rare_text.h"
#include "core/collections/id_map.h"
#include "core/state/accounts.h"
#include "core/state/changes.h"
#include "core/state/learned/history.h"
#include "core/state/node_table.h"
#include "core/state/past/forgotten.h"
#include "model/declared.h"
#include "model/event.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/key.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/time.h"

namespace dove::core {

enum class PlacementStage { kOrdered, kPrepared, kStarted, kEnded };

struct PlacementRecord {
  SharedPlacement placement;
  PlacementStage stage = PlacementStage::kOrdered;
  std::int64_t step = 0;          // as last reported
  Span busy = {};                 // as last reported
  Instant step_at = {};           // when `step` last rose; 0: never reported
  std::int32_t slow_reports = 0;  // in a row
  Rank slowest = 0;               // as last reported
  std::int32_t ranks = 0;         // as last reported
  Span typical = {};              // as last reported
  bool slow_noted = false;        // as a fault of its node: once in an attempt
};

// The ranks of a running attempt have reported no step for `silent`: see HangObserved.
struct Hang {
  AttemptNumber attempt = 0;
  NodeId node;
  bool is_one = false;
  Rank rank = 0;
  std::int32_t ranks = 0;
  std::int64_t step = 0;
  Span silent;
  Instant at;
};

// A running job that is idle: see IdleObserved. Once it was stopped for that, why.
struct IdleNotice {
  AttemptNumber attempt = 0;
  IdleCheck check = IdleCheck::kInput;
  std::string rule;
  std::string evidence;
  Instant observed_at;
  Instant ends_at;  // when it is stopped
};

struct Attempt {
  AttemptNumber number = 0;
  Stage stage = Stage::kAllocated;
  StopReason stop_reason = StopReason::kNone;
  std::vector<PlacementRecord> placements;  // ascending by node_rank
  std::vector<TaskExit> exits;              // in order of arrival, one per ended task
  Instant allocated_at;
  Instant started_at;               // first placement started; 0 before
  Instant stop_at;                  // when Stop was decided; 0 before
  Instant ended_at;                 // 0 before
  Instant stage_at;                 // since when `stage` holds; refreshed by ControllerStarted
  std::uint32_t exits_at_stop = 0;  // how many of `exits` had come when Stop was decided
  Instant saved_at = {};            // its last CheckpointTaken; 0: none
  bool held_back = false;           // waits for Start also with one placement: for placeholders

  // Its placements, once prepared, wait for Start.
  bool has_barrier() const { return held_back || placements.size() > 1; }
};

// What nearly every record about a job looks at comes first, in one line of memory.
struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;  // shared by all elements of an array
  std::vector<Attempt> attempts;        // the last one is current while phase is kActive
  JobPhase phase = JobPhase::kWaiting;
  bool held = false;
  bool cancel_requested = false;
  bool requeue_requested = false;
  bool at_head = false;  // comes first in its queue: a bad node kept it from starting, or was left
  std::uint32_t account = 0;          // its number in State::accounts; 0: not asked for yet
  std::int32_t priority = 0;          // the spec's, until changed
  JobId array;                        // first element's id; none for a job that is not of an array
  std::vector<NodeId> nodes_avoided;  // lost or failed a launch under it
  Instant eligible_at;  // begin_at had come and dependencies were met; 0 before the first launch
  Seq submitted_seq;
  std::int32_t array_index = 0;
  std::int32_t preemptions = 0;
  Outcome outcome = Outcome::kNone;
  std::int32_t exit_code = 0;  // once ended
  std::int32_t retries_used = 0;
  std::int32_t requeues_in_a_row = 0;  // see fold.h: requeues_after
  Instant submitted_at;
  Instant ended_at;
  Span ran_before;  // in attempts before the current one
  // Since it waits; 0: nothing is learned (core/state/learned/learned.h).
  std::int64_t learned_key = 0;
  std::int64_t likely_ms = 0;  // of GPU time that it is likely to take
  Instant checkpoint_at;       // last CheckpointTaken; 0: none
  Instant preempted_at;        // the last time; 0: never
  Instant not_before;          // its last start failed, or an executor refused it: not until then
  RareText cancelled_by;       // the principal who asked first for its end; "": nobody, not known
};

// A protected start of a waiting job.
struct PromiseRecord {
  Instant start_at;
  Instant made_at;
  std::vector<Placement> placements;
  bool cleared = false;  // as in the decision
};

struct PlaceholderKey {
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  std::string executor;
  auto operator<=>(const PlaceholderKey&) const = default;
};

struct Placeholder {
  PlaceholderStage stage = PlaceholderStage::kWanted;
  Instant since;   // of the stage
  std::string id;  // in the executor; "": not known
  std::string why;
};

// A time in which nobody heard what an executor runs (core/state/executors/unwatched.h).
struct Unwatched {
  Instant from;
  Instant to;
  Instant counted;  // what ended before is settled
  // By id: what was known to run and had ended when the time was over (`to`), or soon after, with
  // what it held. Its `to` is when the end was heard of.
  std::map<std::string, ForeignUse> ended = {};
};

// What is known of an executor's adapter.
struct ExecutorStanding {
  ExecutorContact contact = ExecutorContact::kSilent;
  Instant since;
  std::string why;
  Instant watched_until = {};             // nothing was missed before; 0: nothing is known
  Epoch watched_in = {};                  // in which it has been heard completely
  std::vector<Unwatched> unwatched = {};  // to be settled yet, ascending
};

struct JoinToken {
  std::string node_name;
  Instant expires_at;
};

// That a machine may ask for one token to join with, or that it did (core/state/boot/boots.h).
struct ArmedBoot {
  Instant until;
  Instant used_at = {};      // 0: not yet
  std::string used_by = {};  // the address that got the token
};

// What a user, a queue, or the cluster uses now.
struct Usage {
  std::int32_t jobs_running = 0;
  std::int32_t jobs_waiting = 0;
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::map<std::string, std::int64_t> countables;
  std::map<std::string, std::int64_t> gpus_by_model = {};  // milli, by model in lower case
};

// What was used up to `at`, decayed: GPU milliseconds in thousandths (core/state/past/past_use.h).
struct PastUse {
  std::int64_t amount = 0;
  Instant at;
};

// GPUs times milliseconds of attempts, from the month's first instant up to `at`.
struct MonthUse {
  std::int32_t month = 0;  // since January 1970 (UTC)
  std::int64_t gpu_ms = 0;
  Instant at;
};

struct State {
  State();
  // Compiled once: each of them takes code for all that a State holds.
  State(const State&);
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  Instant now;  // of the last batch
  Seq head;     // last record folded
  Epoch epoch;
  std::int32_t level = kFirstLevel;  // at which the log is written (model/level.h)
  std::uint64_t next_job = 1;
  IdMap<JobId, Job> jobs;
  NodeTable nodes;
  ClusterSettings settings;
  std::map<std::string, Pool> pools;    // "default" always exists
  std::map<std::string, Queue> queues;  // "default" always exists
  std::map<std::string, UserLimit> user_limits;
  std::map<std::string, UserDeclaration> users;
  std::map<std::string, Project> projects;
  std::map<std::string, Reservation> reservations;
  std::map<std::string, Domain> domains;
  std::map<std::string, Group> groups;
  std::map<std::string, Binding> bindings;
  std::map<std::string, Executor> executors;
  std::map<std::string, IdleRule> idle_rules;
  std::map<std::string, App> apps;
  std::map<std::string, Settings> job_settings;  // by name
  std::map<std::string, Secret> secrets;
  std::map<std::string, BootConfig> boot_configs;
  std::map<std::string, ExecutorStanding> standings;         // of all executors
  std::map<PlaceholderKey, Placeholder> placeholders;        // until they are gone
  std::map<std::string, NodeDeclaration> node_declarations;  // also of nodes not yet seen
  std::map<std::string, JoinToken> join_tokens;              // by SHA-256
  std::map<std::string, ArmedBoot> armed_boots;              // by name of the node
  std::map<std::string, Key> keys;                           // by SHA-256
  std::map<std::string, Usage> usage_by_user;
  std::map<std::string, Usage> usage_by_queue;  // with all queues below it
  std::map<std::string, Usage> usage_by_project;
  std::map<std::string, Usage> asked_by_project;  // by all its jobs that have not ended
  std::map<std::string, PastUse> past_by_user;
  std::map<std::string, PastUse> past_by_queue;  // with all queues below it
  // Whether usage is counted by model and by profile of slices too: somebody limits by them.
  bool counts_models = false;
  std::map<JobId, PromiseRecord> promises;  // of waiting jobs
  std::map<JobId, Hang> hangs;              // of active jobs, until a rank reports a step
  std::map<JobId, IdleNotice> idle;         // until somebody uses or keeps the job; see above
  std::map<JobId, Instant> kept;            // until when no rule but that of lifetime ends them
  std::map<JobId, std::vector<std::string>> shared;  // who else may enter the job's app
  // Use in the calendar month (UTC), of whom a limit by month holds.
  std::map<std::string, MonthUse> month_by_user;
  std::map<std::string, MonthUse> month_by_project;
  std::map<std::string, MonthUse> month_by_domain;
  std::map<std::string, MonthUse> month_by_queue;  // with all queues below it
  std::map<std::string, Usage> usage_by_domain;
  std::map<std::string, Usage> asked_by_domain;  // by all its jobs that have not ended
  std::int64_t incarnation = 0;                  // times that the log went on from a backup
  Instant restored_at;                           // the last time; 0: never
  // While placement is round robin (core/state/round_robin.h), its cursor by pool: the node where
  // the last job that is placed by score was launched.
  std::map<std::string, NodeId> round_robin;
  Forgotten forgotten;  // what jobs held that are in `jobs` no more
  Usage usage;
  Learned learned;
  Accounts accounts;  // derived from the rest, never hashed
  // The last record of this batch that left usage settled (core/state/usage.h); 0: none. Never
  // hashed.
  Seq settled;
  Changes changes;  // by the fold, for whoever keeps indexes over this State; never hashed

  const Job* find_job(JobId id) const;
  Job* find_job(JobId id);
  const Node* find_node(NodeId id) const;
  Node* find_node(NodeId id);
  const Node* find_node(std::string_view name) const;
};

// Visits the queue's name and all above it, from below. Parents are declared before their children
// and form no circle (admit_declared); a parent that was deleted ends the way up.
template <class Visit>
void for_each_queue(const State& state, const std::string& name, Visit visit) {
  visit(name);
  for (auto at = state.queues.find(name); at != state.queues.end();) {
    if (at->second.parent.empty()) return;
    at = state.queues.find(at->second.parent);
    if (at != state.queues.end()) visit(at->first);
  }
}

}  // namespace dove::core
