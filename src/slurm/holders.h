// Slurm's jobs on the devices of a node, and our placeholders that are still leaving theirs. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "slurm/observed.h"
#include "slurm/plan.h"

namespace dove::slurm {

// Whether it has what its allocations name. One that Slurm is ending does.
bool holds(const JobSeen& job);

// The job that holds one of the devices on the node; our own placeholders and standing fences do
// not count.
const JobSeen* holder_of(const Observed& observed, const std::string& node,
                         const std::vector<int>& devices, const std::string& cluster);

// The fence that holds one of the devices on the node; it goes within seconds.
const JobSeen* fence_on(const Observed& observed, const Wanted& wanted, const std::string& cluster);

// Our placeholders on the node that Slurm is ending, or is told to end: `released`.
std::set<std::int64_t> leaving_placeholders(const Observed& observed, const std::string& node,
                                            const std::vector<std::int64_t>& released,
                                            const std::string& cluster);

// The placeholder that has to end before this one can be had: one of `awaited`, or one that Slurm
// is ending on a wanted device. nullptr: none.
const JobSeen* awaited_end(const Observed& observed, const Wanted& wanted,
                           const std::set<std::int64_t>& awaited, const std::string& cluster);

}  // namespace dove::slurm
