// Amounts as Slurm writes them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client/views.h"

namespace dove::cli {

// "00:05:00", "1-02:03:04": always with hours, as sacct and scontrol write lengths of time.
std::string slurm_clock(std::int64_t span_us);
// "4G", "1500M": the largest unit that leaves a whole number, from megabytes on, rounded up.
std::string slurm_memory(std::int64_t bytes);
// The pool, by the name that a job without one has.
std::string slurm_partition(const JobView& job);

}  // namespace dove::cli
