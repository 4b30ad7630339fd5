// The fields of squeue: what each letter shows of a job, and its title. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client/views.h"
#include "cli/slurm/format.h"

namespace dove::cli {

// "" for a letter that squeue does not have.
std::string squeue_title(char field);
std::string squeue_letters();  // all of them
std::string squeue_field(const JobView& job, char field, std::int64_t now_us);
// The names of squeue -O.
const std::vector<LongName>& squeue_long_names();

}  // namespace dove::cli
