// The output of `scontrol show job`. Pure except for the local user database and time zone.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client/views.h"

namespace dove::cli {

std::string job_page(const JobView& job, std::int64_t now_us);
// Files of the job as absolute paths, for `tail -f`: where its output goes, its errors (the same
// file, where both are one), and its script; "" for what it has not.
std::string absolute_stdout(const JobView& job);
std::string absolute_stderr(const JobView& job);
std::string absolute_script(const JobView& job);

}  // namespace dove::cli
