// The state of a Slurm at one look: its nodes, and its jobs with what they hold.
//
// Plain values. Nodes, cores and devices are named as our inventory names them: a device by its
// index, which is the IDX of Slurm's GRES "gpu"; a core by its number, counted through the sockets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dove::slurm {

struct NodeSeen {
  enum class State { kUp, kDrained, kDown };
  std::string name;
  State state = State::kUp;
  bool settles = false;  // down because Slurm has not heard of it yet, or lately not
  // Its slurmd has registered since slurmctld started. Until then slurmctld does not know which
  // device is of which type, and may count one as taken for good when its job ends (22.05).
  bool registered = true;
  std::string reason;                     // why it is drained or down, in Slurm's words
  bool is_in_reservation = false;         // now, all of it or a part
  bool is_in_maintenance = false;         // that has flags=maint
  std::string reserved;                   // by what all of it is, for people; "": it is not
  std::vector<std::string> device_types;  // GRES type by index of the device; "": untyped
  bool devices_bound =
      false;  // to sockets: which one Slurm gives depends on the cores that it gives
  int sockets = 1;
  int cores_per_socket = 1;
  int cpus_per_core = 1;    // its hardware threads, or 1 where CPUs= says that a CPU is a core
  int cores_set_aside = 0;  // for the system, by CoreSpecCount= or CpuSpecList=: no job gets them
  std::int64_t memory_bytes = 0;
  std::vector<std::string> partitions;
  std::vector<std::string> features;  // that are active now; ascending

  int cores() const { return sockets * cores_per_socket; }
  int cores_for_jobs() const { return cores() - cores_set_aside; }
};

enum class JobPhase {
  kWaiting,
  kHolding,  // it runs, is suspended or starts: its devices are its own
  kEnding,   // its processes are being ended; Slurm may give its devices to others already
  kEnded,    // its record is still there
};

// What a job holds on one node.
struct NodeAllocation {
  std::string node;
  std::vector<int> cores;
  std::vector<int> devices;
  std::int64_t memory_bytes = 0;
  bool operator==(const NodeAllocation&) const = default;
};

// What is known besides of a job that the gate holds, or has let go (docs/decisions/0026).
struct GateSeen {
  bool is_held = false;  // its priority is 0
  bool is_batch = false;
  bool may_requeue = false;
  int restarts = 0;
  int wait_status = 0;           // of one that has ended, as of waitpid()
  std::int64_t submitted_s = 0;  // since 1970 UTC
  std::int64_t begins_s = 0;     // not before; 0: it says nothing
  std::int64_t limit_minutes = 0;
  std::int64_t nice = 0;  // more: later
  std::string qos;
  std::string reason;       // why Slurm does not start it, in its word
  std::string comment;      // that its user, or we, wrote
  std::string handle;       // what scontrol calls it: "17"; "17_3", for 17 may be a whole array
  std::string array_tasks;  // "1-4,7%2": tasks that have no record of their own yet; "": none
  std::int64_t array_job = 0;
  bool depends = false;  // on a job that has not ended yet
  int nodes = 1;
  bool may_have_more_nodes = false;  // `nodes` is the least (--nodes=MIN-MAX, -n alone)
  int cpus = 1;                      // on all nodes, the same number on each
  int cpus_said = 1;                 // by Slurm, on all nodes
  int cpus_least = 1;                // of a node
  int tasks = 1;
  int gpus_per_node = 0;
  bool has_equal_tasks = true;  // as many on each node
  bool divides_gpus = false;    // Slurm chooses how many of them a node gives (--gpus)
  std::int64_t memory_per_node = 0;
  bool is_exclusive = false;   // it gets its nodes whole
  std::string nodes_wanted;    // a hostlist, as the next
  std::string nodes_excluded;  //
  std::string features;        // as sbatch --constraint has them: "h200&(nvlink|ib)"
  std::map<std::string, std::int64_t> licences;  // how many of each, by Slurm's name
  std::string reservation;                       // that it is to run in; "": in none
  std::string cannot;                            // what of it the ledger cannot place; "": it can
};

// The reason of a job that starts next in its partition, once there is room.
inline constexpr const char kLacksRoom[] = "Resources";

// As many as the node with the most tasks needs, were the job on that many nodes.
int cpus_on_each(const GateSeen& gate, int nodes);

struct JobSeen {
  std::int64_t id = 0;
  std::string name;
  std::string user;
  std::string account;
  std::string partition;
  JobPhase phase = JobPhase::kWaiting;
  std::string state;  // Slurm's word for it
  std::int64_t priority = 0;
  std::int64_t started_s = 0;  // since 1970 UTC; 0: it has not
  std::int64_t ends_s = 0;     // when its time limit ends it; 0: it has none
  std::string mark;            // the administrator's comment, which users cannot set
  std::string reservation;     // that it runs in; "": in none
  bool may_requeue = false;    // a batch job that its user lets run again from its start
  std::int64_t restarts = 0;   // how often it has begun again, for whatever reason
  std::string handle;          // what scontrol calls it; "": it waits
  bool wants_devices = false;
  bool devices_known = true;                // false: Slurm no longer says which devices it has
  std::vector<NodeAllocation> allocations;  // one that has ended: where it was, a hostlist
  std::optional<GateSeen> gate;             // it bears the mark of the gate
  std::string reason;  // why Slurm keeps it waiting, in its word; of one that no gate holds
  std::optional<GateSeen> asks;  // what for, where nothing but room is lacking (kLacksRoom)

  // Then it has the devices and the memory of `allocations`, and others may have the cores.
  bool is_suspended() const { return state == "SUSPENDED"; }
};

// Nodes or some of their cores, kept for some of Slurm's users or for nobody. It may be still to
// come.
struct ReservationSeen {
  std::string name;
  std::string nodes;          // a hostlist
  std::int64_t starts_s = 0;  // since 1970 UTC
  std::int64_t ends_s = 0;
  bool is_active = false;
  std::int64_t cores = 0;               // of all its nodes
  std::vector<std::string> names = {};  // of its nodes, of a look that knows them
  bool floats = false;                  // its begin stays ahead of now, and never comes
  std::map<std::string, std::vector<int>> cores_of = {};  // by node; Slurm does not always say it
  bool operator==(const ReservationSeen&) const = default;
};

struct Observed {
  std::vector<NodeSeen> nodes;
  std::vector<ReservationSeen> reservations;  // of whole nodes
  std::vector<ReservationSeen> in_part = {};  // of some cores, that have begun
  std::vector<ReservationSeen> in_part_later = {};
  std::vector<JobSeen> jobs;

  const NodeSeen* find_node(const std::string& name) const {
    for (const NodeSeen& node : nodes) {
      if (node.name == name) return &node;
    }
    return nullptr;
  }

  // Jobs of whose devices Slurm might lose count if they ended now.
  std::set<std::int64_t> jobs_to_leave() const {
    std::set<std::int64_t> leave;
    std::set<std::string_view> awaited;
    for (const NodeSeen& node : nodes) {
      if (node.state != NodeSeen::State::kDown && !node.registered) awaited.insert(node.name);
    }
    if (awaited.empty()) return leave;
    for (const JobSeen& job : jobs) {
      if (job.phase != JobPhase::kHolding) continue;
      for (const NodeAllocation& held : job.allocations) {
        if (awaited.contains(held.node) && !held.devices.empty()) leave.insert(job.id);
      }
    }
    return leave;
  }
};

}  // namespace dove::slurm
