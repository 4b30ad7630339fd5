// The JSON that Slurm's commands print, read as Observed.
//
// Pure. With json_values.h this is the one file that knows how answers of versions differ; tested
// with 22.05 (v0.0.38) and 24.11 (v0.0.42). The versions between and v0.0.43 are as Slurm's source
// writes them. What it does not understand is an error, never an empty list, for a job that is
// passed over would be taken to have ended.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/observed.h"

namespace dove::slurm {

inline constexpr std::size_t kJsonBytesMax = 128 << 20;

// `sinfo --json` of 22.05, `scontrol show nodes --json` since.
Result<std::vector<NodeSeen>> read_nodes(std::string_view json);
// As slurmrestd answers.
Result<std::vector<ReservationSeen>> read_reservations(std::string_view json);
// `squeue --states=all --json`. `nodes`: those of the same look, by which cores are numbered.
Result<std::vector<JobSeen>> read_jobs(std::string_view json, const std::vector<NodeSeen>& nodes);

}  // namespace dove::slurm
