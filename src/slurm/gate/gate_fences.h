// The fences of jobs at the gate that are starting.
//
// Slurm chooses devices by itself. Until the job has started, a fence on each of its nodes
// therefore holds every device that is free in Slurm, is not the job's, and could be given to it. A
// fence is an allocation that runs nothing. It has a core; if the job needs that core, the fence is
// suspended, which frees it. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/observed.h"
#include "slurm/plan.h"

namespace dove::slurm {

// An attempt of the ledger's: one start of a job at the gate.
struct GateStart {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  auto operator<=>(const GateStart&) const = default;
};

// One that nobody remembers ends by itself after this time, unless it is suspended.
inline constexpr std::int64_t kFence_minutes = 2;

std::string fence_name(const GateStart& start, const std::string& cluster);

class GateFences {
 public:
  // Both outlive this. `cluster`: whose fences these are.
  GateFences(const Observed& observed, const std::string& cluster)
      : observed_(observed), cluster_(cluster) {}

  // The devices that are held there as Slurm sees it, by others than the fences of that start.
  std::set<int> taken_on(const std::string& node, const GateStart& start) const;

  // Whether they stand: nothing that Slurm might give the job in place of `wanted` is free, and its
  // cores are. Else notes what is missing. `gets_lowest`: of several free devices it gets the one
  // of the lowest index. REQUIRES: Slurm has the node.
  bool stand(const JobSeen& job, const GateStart& start, const Wanted& wanted, bool gets_lowest);

  const std::vector<Ask>& missing() const { return missing_; }
  const std::vector<std::int64_t>& to_suspend() const { return to_suspend_; }
  // Those that stand for no start that stand() was called for.
  std::vector<std::int64_t> without_reason() const;

 private:
  bool is_of(const JobSeen& job, const GateStart& start) const;
  std::set<int> uncovered(const GateStart& start, const Wanted& wanted, const NodeSeen& node);
  bool leave_its_cores(const JobSeen& job, const GateStart& start, const Wanted& wanted,
                       const NodeSeen& node, int more);

  const Observed& observed_;
  const std::string& cluster_;
  std::set<std::int64_t> kept_;
  std::vector<Ask> missing_;
  std::vector<std::int64_t> to_suspend_;
};

}  // namespace dove::slurm
