// Orders as the agent understands them: api/agent-protocol.md, read and checked once, at the edge.
//
// Plain values; they also go to disk with their attempt, so that a restarted agent knows what it
// was doing. Include nlohmann/json.hpp only in .cc files.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/declared.h"
#include "model/exec.h"
#include "model/job.h"
#include "model/placement.h"

namespace dove::agent {

// (job, attempt): what an agent holds at most once.
struct AttemptKey {
  JobId job;
  AttemptNumber attempt = 0;
  auto operator<=>(const AttemptKey&) const = default;
  std::string text() const;  // "7.1"
};

// One node of an attempt, as the tasks on all of its nodes see it.
struct PeerNode {
  std::string name;
  std::string address;  // where tasks reach those there: of the gang's network if it has one
  std::int32_t node_rank = 0;
  std::vector<Rank> ranks;
  std::int32_t cores = 0;
  std::vector<std::int32_t> devices;
  std::string underlay = {};        // where machines reach it
  std::int32_t preflight_port = 0;  // of its agent's RingHub; 0: it has none
};

struct LaunchOrder {
  AttemptKey key;
  std::int32_t restart_count = 0;
  bool barrier = false;     // wait for Start once prepared
  bool preflight = false;   // try the node and the network first
  bool in_network = false;  // containers are in one of their gang; the same on all of its nodes
  std::string no_network;   // why it is not, though its job left the choice to us; "": it is not so
  Placement placement;
  std::vector<PeerNode> nodes;  // of the whole attempt, ascending by node_rank
  // What tasks are told about their job.
  std::string job_name;
  std::string user;
  std::string project;
  std::string queue;
  std::string pool;
  LaunchMode launch = LaunchMode::kEachTask;
  std::int64_t time_limit_us = 0;
  std::int64_t kill_grace_us = 0;
  int checkpoint_signal = 0;  // sent first when it is preempted; 0: none
  std::int64_t checkpoint_grace_us = 0;
  JobId array;
  std::int32_t array_index = 0;
  std::int32_t tasks = 1;  // of the whole attempt
  std::int32_t cpus_per_task = 1;
  std::vector<std::string> group_names;
  ExecSpec exec;
  RunAs run_as = RunAs::kNode;  // of its pool
  std::string linux_user;       // "" : only as the agent's own user
  std::string job_token;
};

// A step's tasks on this node.
struct StepOrder {
  std::string relay_id;
  AttemptKey key;
  std::int32_t step = 0;
  std::vector<TaskGrant> tasks;  // rank is the position within the step
  bool devices_given = false;    // they see the devices of their grants, even none
  std::int32_t tasks_total = 0;
  std::vector<std::string> nodes;
  std::vector<std::int32_t> tasks_per_node;  // as `nodes`
  std::int32_t node_rank = 0;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string workdir;
  ContainerSpec container;  // without an image: what the job's tasks run in
  std::string stdout_path;
  std::string stderr_path;
  std::string stdin_text = "none";  // "stream": from the step's client; or a path
  std::int32_t stdin_rank = -1;     // of this task alone; -1: of all
};

// A step whose client comes back through a new controller.
struct StepAttach {
  std::string relay_id;
  AttemptKey key;
  std::int32_t step = 0;
  std::vector<Rank> ranks;
  std::string stdout_path;  // not "": it has no relay
  std::string stderr_path;
  std::map<std::pair<Rank, bool>, std::int64_t> seen;  // bytes that it has, by (rank, is_stderr)
};

// `has_network`: whether this node offers networks of gangs, if the line, as it came, does not say.
Result<LaunchOrder> read_launch_order(const nlohmann::json& line, bool has_network = false);
Result<StepOrder> read_step_order(const nlohmann::json& step);
Result<StepAttach> read_step_attach(const nlohmann::json& attach);

}  // namespace dove::agent
