// The job that a Slurm runs for us and that this process is in: ours, and the allocations of
// Slurm's in which it runs, one for each node.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::cli {

struct JobInSlurm {
  std::string id;         // ours
  std::string array;      // of the array that it is in; else `id`
  std::string index;      // in the array; else "" (Slurm says a number that means none)
  std::string slurms_id;  // of the allocation of this node
  std::string run{};      // of a script on several nodes: no other one, of any job, has this name
};
JobInSlurm this_job_in_slurm();

struct NodeInSlurm {
  std::string name;
  std::string address;
  std::string slurms_id;  // of its allocation
  std::int32_t tasks = 1;
  std::int32_t cpus = 1;
  std::int64_t load = 0;  // CPUs of the steps that are known to run there
};
// Those of a script's job on several nodes, by rank; of any other none. Error: its variables do not
// agree.
Result<std::vector<NodeInSlurm>> nodes_in_slurm();

// All that a step on several nodes depends on.
struct GangContext {
  JobInSlurm job;
  std::vector<NodeInSlurm> nodes;                  // REQUIRES: two or more
  std::map<std::string, std::string> environment;  // of this process
  std::string workdir;                             // of this process
  std::int32_t number = 0;                         // another one for each step that runs
  std::int64_t step = -1;                          // its number in the job, from 0; -1: not known
};

// The name of a file as Slurm is to read it, which fills in its own numbers: ours are put in
// before, and that of a step where it is not -1. What is doubled stays so.
std::string with_our_numbers(const std::string& pattern, const JobInSlurm& job,
                             std::int64_t step = -1);

}  // namespace dove::cli
