#include "cli/slurm/slurms_srun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/client/endpoint.h"
#include "cli/terminal/output.h"
#include "text/output_pattern.h"

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

bool names_a_file(std::string_view option) {
  return option == "output" || option == "error" || option == "input";
}

// Slurm fills in its own numbers: ours are put in before it reads the pattern. What is doubled
// stays so, since it reads the pattern, too.
std::string with_our_numbers(const std::string& pattern, const JobInSlurm& job) {
  std::string doubled;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_sign = pattern.compare(i, 2, "%%") == 0;
    doubled += is_sign ? "%%%%" : pattern.substr(i, 1);
    if (is_sign) ++i;
  }
  return text::fill_pattern(doubled, [&job](char letter) -> std::string {
    switch (letter) {
      case 'j':
        return job.id;
      case 'J':
        return job.id + ".%s";
      case 'A':
        return job.array;
      case 'a':
        return job.index;
      default:
        return "";
    }
  });
}

JobInSlurm this_job() {
  JobInSlurm job;
  job.id = environment_value("DOVE_JOB_ID");
  job.index = environment_value("SLURM_ARRAY_TASK_ID");
  job.array = job.index.empty() ? job.id : environment_value("SLURM_ARRAY_JOB_ID");
  job.slurms_id = environment_value("DOVE_SLURM_JOB_ID");
  if (job.slurms_id.empty()) job.slurms_id = environment_value("SLURM_JOB_ID");
  return job;
}

// The first srun of PATH that is not ours, of whatever version: two of ours would call each other
// without end. "": none.
std::string find_slurms_srun() {
  std::error_code ignored;
  const std::string all = environment_value("PATH");
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path folder(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!folder.is_absolute()) continue;
    const fs::path found = folder / "srun";
    const fs::path real = fs::canonical(found, ignored);
    if (!ignored && real.filename() != "dove" && ::access(found.c_str(), X_OK) == 0)
      return found.string();
  }
  return "";
}

}  // namespace

bool is_in_slurm() { return environment_value("DOVE_BACKEND") == "slurm"; }

Result<std::vector<std::string>> slurms_srun_words(const Invocation& invocation,
                                                   const JobInSlurm& job) {
  const std::string named = invocation.get("jobid", job.id);
  if (named != job.id && named != job.slurms_id) {
    return usage_error(fmt::format(
        "--jobid={}: steps inside job {} are that job's own; call srun from outside to reach "
        "another one",
        named, job.id));
  }
  std::vector<std::string> words{"--jobid=" + job.slurms_id};
  for (const auto& [name, values] : invocation.values) {
    if (name == "jobid") continue;
    for (const std::string& value : values) {
      const std::string given = names_a_file(name) ? with_our_numbers(value, job) : value;
      words.push_back(given.empty() ? "--" + name : fmt::format("--{}={}", name, given));
    }
  }
  // srun gives its tasks the number of the allocation, whatever its own environment says.
  words.insert(words.end(), {"/usr/bin/env", "SLURM_JOB_ID=" + job.id, "SLURM_JOBID=" + job.id,
                             "DOVE_SLURM_JOB_ID=" + job.slurms_id});
  words.insert(words.end(), invocation.operands.begin(), invocation.operands.end());
  return words;
}

Result<int> run_slurms_srun(const Invocation& invocation) {
  const JobInSlurm job = this_job();
  TRY_ASSIGN(const std::vector<std::string> words, slurms_srun_words(invocation, job));
  const std::string srun = find_slurms_srun();
  if (srun.empty()) {
    return Error{ErrorKind::kNotFound, "no_srun",
                 "Slurm runs this job, but PATH has no srun of Slurm; put its folder after that of "
                 "dove's commands",
                 "PATH"};
  }
  ::setenv("SLURM_JOB_ID", job.slurms_id.c_str(), 1);
  ::setenv("SLURM_JOBID", job.slurms_id.c_str(), 1);
  std::vector<char*> arguments{const_cast<char*>("srun")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(srun.c_str(), arguments.data());
  return Error{ErrorKind::kUnavailable, "srun_failed",
               fmt::format("cannot run {}: {}", srun, std::strerror(errno)), "PATH"};
}

}  // namespace dove::cli
