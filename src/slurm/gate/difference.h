// Whether Slurm gave a job at the gate what the ledger gave it. Pure.
#pragma once

#include <string>
#include <vector>

#include "slurm/observed.h"
#include "slurm/plan.h"

namespace dove::slurm {

// What the job holds on that node; none: nothing.
const NodeAllocation* allocation_on(const JobSeen& job, const std::string& node);

// "": it holds on each of the nodes what the ledger gave it, and nothing elsewhere; else what is
// different, for people. REQUIRES: job.gate.
std::string difference(const JobSeen& job, const std::vector<const Wanted*>& keys,
                       const Observed& observed);

}  // namespace dove::slurm
