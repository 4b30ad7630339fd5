// GangTrace: jobs that want all their GPUs at once, and how much work each is.
//
// Read from Muri's traces (SIGCOMM'22; Rivendile/Muri): CSV with job_id, num_gpu, submit_time (ms),
// iterations, model_name and iteration_time (ms); other columns are ignored. The work of a job is
// iterations x iteration_time x 1.015, as that simulator has it. Whole microseconds throughout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/time.h"

namespace dove::sim {

struct GangJob {
  std::int64_t gpus = 1;
  Instant submitted_at;
  Span work;             // at full speed
  Span switch_overhead;  // lost at every event at which it runs
};

// In the order of the file. The overheads file has the column num_gpu and one for each model, in
// seconds; a model without a column loses 10 s, as in Muri; a GPU count without a row is an error.
Result<std::vector<GangJob>> read_gang_trace(const std::string& trace_path,
                                             const std::string& overheads_path);

}  // namespace dove::sim
