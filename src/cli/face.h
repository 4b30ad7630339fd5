// The common part of the commands under other tools' names: how they report errors, and their
// words.
//
// Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/command.h"

namespace dove::cli {

constexpr const char* kFaceGroup = "Under other tools' names";

// Errors become "NAME: error: message" on stderr and exit code 1, as scripts expect of Slurm.
std::function<int(const Invocation&)> guarded_face(
    std::string name, std::function<Result<int>(const Invocation&)> body);
void face_says(const std::string& name, const std::string& message);

// Slurm's words for a job's state: "PD" and "PENDING".
struct StateWord {
  std::string compact;
  std::string full;
};
StateWord slurm_state(const JobView& job);
// The API's states that a Slurm state (compact or full, any case) means; empty: not known.
std::vector<std::string> states_of_slurm(const std::string& word);
// "Resources", "Priority", "JobHeldUser", ...; "None" for a job that does not wait.
std::string slurm_reason(const JobView& job);
// "idle", "mix", "alloc", "drain", "drng", "down*"; in full "mixed", "allocated", ...
std::string slurm_node_state(const NodeView& node, bool full);

// Fills the reasons of waiting jobs that have none, asking the server for at most `count` of them.
void fetch_reasons(Api& api, std::vector<JobView>& jobs, int count);

// A pool as a partition: its name, its nodes, its limit.
struct PartitionView {
  std::string name;
  bool is_default = false;
  bool open = true;
  std::int64_t time_limit_max_us = 0;
  std::vector<NodeView> nodes;
};
Result<std::vector<PartitionView>> read_partitions(Api& api);

}  // namespace dove::cli
