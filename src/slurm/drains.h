// Drains that cross over: a node that the ledger has closed gets no new work in Slurm either.
//
// A drain of ours is recognised by its reason, which begins with our mark and cluster. A drain that
// Slurm's administrators set, or whose reason they changed, is theirs: we never open it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "slurm/observed.h"

namespace dove::slurm {

struct WantedDrain {
  std::string node;
  std::string why;
};

struct DrainChange {
  std::string node;
  std::string reason;  // "": it is to be open again
  bool operator==(const DrainChange&) const = default;
};

bool is_drained_by_us(const NodeSeen& node, const std::string& cluster);

// What is to change in Slurm. Nodes that Slurm does not have are passed over.
std::vector<DrainChange> plan_drains(const Observed& observed,
                                     const std::vector<WantedDrain>& wanted,
                                     const std::string& cluster);

// When to make each change: at once, and for as long as looks show that it is not in effect (a
// command failed, Slurm lost it, somebody took it back) again after longer and longer pauses.
class DrainPace {
 public:
  // `all`: of a look. Those that are due count as made now.
  std::vector<DrainChange> due(const std::vector<DrainChange>& all, std::int64_t now_s);

 private:
  struct Last {
    std::string reason;
    std::int64_t pause_s = 0;
    std::int64_t again_s = 0;  // since 1970 UTC
  };
  std::map<std::string, Last> last_;  // by node
};

}  // namespace dove::slurm
