// What the gate needs to know about a job, read from the job's object of `squeue --json`.
//
// Pure. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json.hpp>

#include "slurm/observed.h"

namespace dove::slurm {

// The part of it that the ledger cannot place is in `cannot`: it is no error.
GateSeen read_gate(const nlohmann::json& job);

}  // namespace dove::slurm
