// Declared state: what an administrator says there shall be (dove apply). Reconciled, not scripted.
//
// Each object is known by (kind, name). Applying the same object twice changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/boot.h"
#include "model/choice.h"
#include "model/executor.h"
#include "model/idle.h"
#include "model/labels.h"
#include "model/people.h"
#include "model/resources.h"
#include "model/secret.h"
#include "model/template.h"
#include "model/time.h"

namespace dove {

// With whose rights the tasks of a pool run.
enum class RunAs {
  kNode,       // as its agent was told: the submitter's, or the agent's own
  kSubmitter,  // those of the submitter's Linux user; of one of the submitter's name, if none is
               // set
  kAgent,      // the agent's own
  kVirtual,    // nobody's: in containers alone, root inside
};

// What a pool says of a setting that the cluster has too.
enum class PoolSwitch { kCluster, kOff, kOn };

// A set of nodes that jobs name together (Slurm: partition).
struct Pool {
  std::string name;
  std::vector<std::string> nodes;  // names or hostlists ("gpu-[001-004,7]"); "*" is every node
  bool is_default = false;
  Span time_limit_default;  // 0: none
  Span time_limit_max;      // 0: none
  bool open = true;         // false: jobs wait, nothing is started
  // Who may use it: the union of the three; everybody when all are empty.
  std::vector<std::string> users = {};
  std::vector<std::string> projects = {};
  std::vector<std::string> domains = {};
  RunAs run_as = RunAs::kNode;
  PoolSwitch preflight = PoolSwitch::kCluster;
  bool exclusive = false;                  // its jobs get whole nodes, whatever they ask for
  Affinity affinity = Affinity::kDefault;  // of jobs that do not say; kDefault: as the cluster
  Labels labels = {};
  bool operator==(const Pool&) const = default;
};

// At most this much in one job; -1 is no limit.
struct JobLimits {
  std::int32_t nodes = -1;
  std::int32_t cores = -1;
  std::int32_t gpus_milli = -1;
  std::int64_t memory_bytes = -1;
  Span time_limit;  // 0: no limit; else the job has one, and it is not longer
  bool operator==(const JobLimits&) const = default;
};

// At most this much at once; -1 (or an absent countable) is no limit.
struct Limits {
  std::int32_t jobs_running = -1;
  std::int32_t jobs_waiting = -1;  // a submission over it is refused
  std::int64_t cores = -1;
  std::int64_t gpus_milli = -1;  // whole devices and shares together
  std::int64_t memory_bytes = -1;
  std::vector<Countable> countables;
  std::vector<Countable> gpus_by_model;  // milli, by model in lower case
  std::int64_t gpu_ms_month = -1;        // whole GPUs times milliseconds in a calendar month (UTC)
  JobLimits job = {};
  bool operator==(const Limits&) const = default;
};

// What is guaranteed; 0 is nothing.
struct Quota {
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<Countable> countables;     // ascending by name
  std::vector<Countable> gpus_by_model;  // milli, by model in lower case
  bool operator==(const Quota&) const = default;
};

// A queue's weight in one resource; 0 is the queue's `weight`.
struct QueueWeights {
  std::int32_t cores = 0;
  std::int32_t gpus = 0;
  std::int32_t memory = 0;
  bool operator==(const QueueWeights&) const = default;
};

// A node of the tree of queues. Limits and guarantees hold for the queue with all below it. Jobs
// wait in queues that have none below them.
struct Queue {
  std::string name;
  std::int32_t priority = 0;  // added to the job's
  Limits limits;
  bool open = true;    // false: submissions are refused
  std::string parent;  // "": directly below the cluster
  Quota guaranteed;
  std::int32_t weight = 1;    // its part of what is guaranteed to nobody, 1 to 1000000
  std::int32_t band = 0;      // among queues of one parent, all of a higher band come first
  std::string order;          // the order policy of its jobs; "": the parent's
  std::int32_t promises = 4;  // the number of its blocked jobs with a protected start
  QueueWeights weights = {};  // where a resource has another one than `weight`
  Labels labels = {};
  bool operator==(const Queue&) const = default;
};

// One unit of a level of the topology: {"rack", "r12"}.
struct TopologyUnit {
  std::string level;
  std::string name;
  bool operator==(const TopologyUnit&) const = default;
};
// The level below all declared ones: every node is a unit of it.
constexpr std::string_view kNodeLevel = "node";

// What an administrator says of a node beyond what its agent finds.
struct NodeDeclaration {
  std::string name;
  bool drained = false;  // running work ends by itself, nothing new starts
  std::string drain_reason;
  std::vector<std::string> features;
  std::vector<Countable> countables;  // added to the inventory's
  std::int32_t cores_reserved = 0;    // the lowest ids, kept for the system
  std::int64_t memory_reserved_bytes = 0;
  std::vector<TopologyUnit> topology;  // where it is, widest level first
  Labels labels = {};
  bool operator==(const NodeDeclaration&) const = default;
};

struct UserLimit {
  std::string name;  // a user, or "*" for everybody without one of their own
  Limits limits;
  Labels labels = {};
  bool operator==(const UserLimit&) const = default;
};

// An organisation that shares the cluster with others: projects and users name it.
struct Domain {
  std::string name;
  std::string title;   // for people
  Limits limits = {};  // of the jobs of its projects, and of its users outside projects
  Labels labels = {};
  bool operator==(const Domain&) const = default;
};

// What several users work on together. Over its limits submissions are refused.
struct Project {
  std::string name;
  std::string domain;
  // Former logs say it here; bindings say it now (server/former_members.h).
  std::vector<std::string> users = {};
  Limits limits;  // of its jobs, waiting ones included
  Labels labels = {};
  bool operator==(const Project&) const = default;
};

// Nodes kept for somebody during [starts_at, ends_at), or for nobody: an outage. kNever: no end.
struct Reservation {
  std::string name;
  std::vector<std::string> nodes;  // names or hostlists
  Instant starts_at;
  Instant ends_at;
  bool outage = false;  // nothing runs there; preemptible jobs are stopped in time
  std::vector<std::string> users;
  std::vector<std::string> projects;
  // > 0: spare nodes. They admit only gangs that were on at least this number of nodes when a bad
  // one ended their last attempt; where users or projects are listed, only theirs.
  std::int32_t spares_for = 0;
  Labels labels = {};
  bool operator==(const Reservation&) const = default;
};

// What becomes of a job whose ranks have fallen silent.
enum class OnHang {
  kShow,     // it is shown, with its node; people decide
  kRequeue,  // it is stopped and runs again, uncounted; jobs that are never to run again are shown
  kRetry,    // it is stopped and runs again while it has retries left; then it has failed
};

// Whose jobs a user sees, besides their own.
enum class JobVisibility : std::uint8_t {
  kEveryone,  // everybody's, as in Slurm: what runs and waits, and why
  kMembers,   // those of projects where they have a role
};

// The most points for a minute of waiting: sums of a century fit into 64 bits.
constexpr std::int64_t kPoints_minute_max = 1000;

// What each part of the order multifactor weighs, in points. A new cluster gives one for each
// minute of waiting.
struct MultifactorWeights {
  std::int64_t age = 10'080;  // for each age_span of waiting, without end
  Span age_span = seconds(7 * 24 * 3600);
  std::int64_t fair_share = 6'000;  // lost by who recently used all of the cluster
  std::int64_t size = 1;  // for each GPU, or ten cores, that a job asks for; < 0: small ones first
  std::int64_t priority = 60;        // for each point of a job's own priority
  std::int64_t queue_priority = 60;  // for each point of its queue's (Slurm: QOS)
  bool operator==(const MultifactorWeights&) const = default;
};

// One object named "cluster".
struct ClusterSettings {
  std::string name = "dove";
  Span fence = seconds(5);  // a shim ends its task this long after the last renewal
  Span disconnect_grace =
      seconds(300);                    // an agent renews this long without a word of its controller
  Span silent_after = seconds(10);     // no word for this long: the node is silent
  Span effect_deadline = seconds(60);  // an order unanswered for this long has failed
  std::int32_t array_max = 10'000;
  std::int32_t jobs_max = 200'000;  // waiting and active together
  Span ended_jobs_kept = seconds(7 * 24 * 3600);
  std::int32_t ended_jobs_max = 100'000;
  std::vector<Countable> countables;                   // cluster-wide totals: licences, watts
  std::string order = "priority_fifo";                 // of queues that name none
  Span fair_share_half_life = seconds(7 * 24 * 3600);  // of past use
  bool preemption = true;
  // A job is held when failures that it did not cause have requeued it this many times in a row.
  std::int32_t requeues_max = 20;
  // The most nodes that are out for a reboot, an upgrade or a repair at once.
  std::int32_t max_unavailable = 1;
  bool node_tests = false;  // nodes that join are tested before they take jobs
  bool preflight = false;   // gangs are tried on their nodes before they start
  // A node with this number of faults within lemon_window is to be replaced, not repaired again.
  std::int32_t lemon_faults = 3;
  Span lemon_window = seconds(7 * 24 * 3600);
  std::string placement = "best_fit";  // where single tasks with devices go
  // Ranks that report no step for this long (or for 20 of their steps, if that is longer) hang; 0
  // switches the check off.
  Span hang_after = seconds(1800);
  OnHang on_hang = OnHang::kShow;
  // A rank is slow when its steps take this percentage of the gang's median; that is a finding
  // after `slow_reports` reports in a row.
  std::int32_t slow_percent = 130;
  std::int32_t slow_reports = 3;
  // An agent renews this long when it knows that the controller's process is down, and the next one
  // waits this long for nodes that it has not heard of.
  Span outage_grace = seconds(24 * 3600);
  JobVisibility job_visibility = JobVisibility::kEveryone;
  Affinity affinity = Affinity::kSingle;  // of jobs whose pool does not say either
  bool job_link_votes = true;  // failed collectives of running jobs are votes against links
  MultifactorWeights multifactor = {};
  Labels labels = {};
  bool operator==(const ClusterSettings&) const = default;
};

struct DeclaredKinds {
  using Variant = std::variant<ClusterSettings, Pool, Queue, NodeDeclaration, UserLimit,
                               UserDeclaration, Project, Reservation, Domain, Group, Binding,
                               Executor, IdleRule, App, Settings, Secret, BootConfig>;
};
extern template class Choice<DeclaredKinds>;
using Declared = Choice<DeclaredKinds>;

}  // namespace dove
