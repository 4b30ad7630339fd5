// The cores of standing fences on which work of ours runs.
//
// A fence costs Slurm a core that nobody uses. Where Slurm has no others left, the placeholder of a
// placement holds fewer cores than the placement has (plan.h), and the rest are those of fences on
// its node. Which ones is settled here, so that Slurm cannot give them to anybody else: those that
// the placement has by the ledger's word, then those of fences of its own devices, then any that no
// other placement works on. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "slurm/observed.h"
#include "slurm/plan.h"
#include "slurm/standing_fences.h"

namespace dove::slurm {

struct FenceCores {
  std::map<PlaceholderKey, std::vector<int>> lent;  // to placements of ours; ascending
  DevicesOfNodes in_use;  // what the fences hold that they are of: they must not go meanwhile
};

FenceCores lend_fence_cores(const Observed& observed, const std::vector<Wanted>& wanted,
                            const std::string& cluster);

}  // namespace dove::slurm
