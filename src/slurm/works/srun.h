// The srun of a placement: its command, what it and its tasks find in the environment, and how the
// tasks ended by what it says.
//
// Pure. What users wrote is an argument or a variable, never text that a shell reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/works/work.h"

namespace dove::slurm {

// A node of a job: the placeholder there, and how many CPUs it has.
struct NodeHeld {
  std::int64_t slurm_job = 0;
  int cpus = 1;
};

struct StepWanted {
  std::int64_t slurm_job = 0;  // the placeholder, which runs nothing else
  WantedWork work;             // REQUIRES: has a program
  std::string home;            // of its user
  int cpus_per_core = 1;
  std::vector<NodeHeld> all_nodes = {};  // by node rank; of a script on several nodes
};

// Whether it runs a script that starts steps on other nodes, too.
bool runs_script_of_several(const WantedWork& work);

// One srun for the tasks of the placement; of a script, for the script.
std::vector<std::string> srun_command(const StepWanted& step);
// "NAME=value", all of it. `slurm_conf`: "" leaves it out.
std::vector<std::string> srun_environment(const StepWanted& step, const std::string& slurm_conf);

// The tasks that `said`, srun's standard error so far, tells the end of, ascending by rank.
std::vector<TaskEnd> ends_said(std::string_view said, const std::vector<int>& ranks);
// All tasks, srun having ended with `code`. Empty: it could not begin any.
std::vector<TaskEnd> ends_of(std::string_view said, int code, const std::vector<int>& ranks);
// Why srun could not begin anything, for people: the last thing that it said.
std::string why_not_begun(std::string_view said, int code);

}  // namespace dove::slurm
