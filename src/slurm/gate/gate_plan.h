// What to do about the jobs at the gate that the ledger has placed: hold the other devices by
// fences, release the jobs, read back what Slurm gave, and report it to the ledger.
//
// Pure and level-triggered, as plan(): computed anew from each look at Slurm. Slurm chooses devices
// by itself, so a job starts among fences (gate_fences.h). A single device that is bound to no
// socket is the free one of the lowest index (22.05); devices of higher indices then need no fence.
// Only one job with devices at a time starts on a node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/gate/gate_fences.h"
#include "slurm/gate/mark.h"
#include "slurm/gate/past_ends.h"
#include "slurm/observed.h"
#include "slurm/plan.h"
#include "slurm/works/work.h"

namespace dove::slurm {

// What this process remembers; all of it may be lost.
struct GateMemory {
  std::map<GateStart, std::int64_t> since_s;         // it is tried
  std::map<GateStart, std::string> refused;          // why; while it is wanted
  std::map<std::string, std::string> fence_trouble;  // by node: why there was no fence lately
  // By node: when Slurm gave other devices there than the ledger. For a while, whatever is not a
  // job's is fenced there.
  std::map<std::string, std::int64_t> surprised_s;
  std::map<std::int64_t, PastEnd> past;  // by Slurm job: of those that GatePlan::gone named
};

// A start that Slurm has not made within this time is given up.
inline constexpr std::int64_t kGateStartWithin_s = 20;
inline constexpr std::int64_t kSurprisedFor_s = 3600;
// So long after it was put back, a job may start anew: Slurm counts in whole seconds, and its clock
// may be a little behind ours.
inline constexpr std::int64_t kAnew_after_s = 2;

struct GatePlacing {
  std::int64_t slurm_job = 0;
  std::string mark;
  std::string nodes;
  std::string first_node = {};              // of these
  int nodes_exactly = 0;                    // not more than these; 0: it asked for that number
  int cpus_of_each = 0;                     // at least that many of each node; 0: it has one
  std::optional<std::string> comment = {};  // its user's own, where why it waited stands in it
};

struct GatePutBack {
  std::int64_t slurm_job = 0;
  std::string mark = {};     // without a place
  bool waits = false;        // it has not started: it is held again
  bool may_requeue = false;  // else it can only be ended
  bool is_warned = false;    // by its user's signal, before it ends
  std::string why = {};
};

struct GatePlan {
  std::vector<PlaceholderReport> reports;  // one for each that is wanted
  std::vector<WorkReport> works;
  std::vector<Ask> fences;
  std::vector<std::int64_t> release;  // fences without a reason
  std::vector<std::int64_t> suspend;  // fences whose cores their job needs
  std::vector<GatePlacing> place;
  std::vector<GatePutBack> put_back;
  std::vector<std::int64_t> cancel;  // jobs that the ledger has stopped for good
  std::vector<std::pair<std::int64_t, std::string>> marks;
  std::set<GateStart> tried;
  std::map<GateStart, std::string> newly_refused;
  std::set<std::string> surprises;   // nodes where Slurm gave other devices than the ledger
  std::set<std::int64_t> confirmed;  // Slurm's jobs that hold what the ledger gave them
  // Slurm's jobs that ran and are no more. Until GateMemory::past has one, it counts as running.
  std::set<std::int64_t> gone;
};

// `wanted`, `works`: those of foreign jobs alone count. `cluster`: whose fences these are.
GatePlan plan_gate(const Observed& observed, const std::vector<Wanted>& wanted,
                   const std::vector<WantedWork>& works, const GateMemory& memory,
                   const std::string& cluster, std::int64_t now_s);

// The clock was set back by this much.
void move_back(GateMemory& memory, std::int64_t back_s);

}  // namespace dove::slurm
