// Jobs that have ended, as Slurm's accounting reports them: the lines of sacct. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/sync.h"

namespace dove::slurm {

// The job's name is last, since it may hold the separator.
inline constexpr const char kEnded_job_format[] =
    "--format=JobIDRaw,Start,End,NodeList,Account,AllocTRES,JobName";

struct EndedJob {
  PastUse use;        // on all of its nodes
  std::string nodes;  // a hostlist
  std::string name;
  bool operator==(const EndedJob&) const = default;
};

struct EndedJobs {
  std::vector<EndedJob> jobs;      // in the order of their starts
  std::size_t not_understood = 0;  // lines
};

// Reads what `sacct --parsable2 --noheader` prints, with times in seconds since 1970. Jobs that
// never started are passed over. The last line counts only if it is whole.
EndedJobs read_ended_jobs(std::string_view lines);

// The part of it on nodes that `hostlists` name: as many of its nodes, as if each had the same.
PastUse use_on(const EndedJob& job, const std::vector<std::string>& hostlists);

}  // namespace dove::slurm
