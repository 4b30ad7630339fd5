// Standing fences: allocations that keep Slurm's users off the devices that are not lent to Slurm.
//
// An Executor's `lendable` says which devices Slurm may have. Every other device of its nodes is
// held in Slurm at all times, by an allocation that is pinned by GRES types; our work starts on it
// without asking Slurm. There is one fence for each device, so that one can be lent while work runs
// on the next. Each is suspended at once, so that it has its device and a MiB, and no core. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/observed.h"

namespace dove::slurm {

// The part of the executor's nodes that it is lent, as it is declared.
struct Lent {
  struct Part {
    std::vector<std::string> nodes;  // names or hostlists; the first part that names a node counts
    std::vector<int> devices;
    bool operator==(const Part&) const = default;
  };
  std::vector<std::string> nodes;  // of the executor: names or hostlists
  std::vector<Part> parts;         // empty: it is lent all of them
  bool operator==(const Lent&) const = default;
};

// By node.
using DevicesOfNodes = std::map<std::string, std::set<int>>;

// The devices that Slurm is not lent.
DevicesOfNodes kept_devices(const Lent& lent, const std::vector<NodeSeen>& nodes);

// "dove-keep-gpu1.2@dove".
std::string standing_fence_name(const std::string& node, int device, const std::string& cluster);
bool is_standing_fence(const JobSeen& job, const std::string& cluster);

// The devices that standing fences hold at this look.
DevicesOfNodes fenced_devices(const Observed& observed, const std::string& cluster);

struct StandingPlan {
  std::vector<Ask> ask;
  std::vector<std::int64_t> release;  // they hold what is not kept any more
  std::vector<std::int64_t> suspend;  // they have a core still
};

// What is to be asked for and released so that the kept devices are held. A device that a job holds
// stays that job's until it ends; where it is one of `leaving` (slurm/fences/put_back.h), the fence
// waits for it in Slurm's queue. Such a fence has a limit: if its adapter is gone before it
// suspends the fence, it ends by itself.
StandingPlan plan_standing_fences(const Observed& observed, const DevicesOfNodes& kept,
                                  const std::string& cluster,
                                  const std::set<std::int64_t>& leaving = {});

// The fences that wait in Slurm's queue, by name, and with those that are not marked yet.
std::set<std::string> waiting_fence_names(const Observed& observed, const std::string& cluster);
std::vector<std::int64_t> waiting_fences(const Observed& observed, const std::string& cluster);

}  // namespace dove::slurm
