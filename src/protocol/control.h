// Control: lines of the orders stream that are no decisions (api/agent-protocol.md, orders and
// steps). They may be lost with the connection, and are then asked for again.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/exec.h"
#include "model/placement.h"
#include "protocol/attempt.h"

namespace dove::protocol {

struct Signal {
  AttemptKey key;
  std::optional<std::int32_t> step;  // this step's tasks alone
  std::int32_t number = 15;
  bool batch_only = false;  // not to the tasks of steps
  bool steps_only = false;  // not to the batch script and what it runs beside steps
};

// A step's tasks on one node.
struct StepOrder {
  std::string relay_id;
  AttemptKey key;
  std::int32_t step = 0;
  std::vector<TaskGrant> tasks;   // rank is the position within the step
  bool devices_given = false;     // they see the devices of their grants, even none
  std::int64_t memory_bytes = 0;  // of all of them; 0: what their job has
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
  bool each_exit = false;           // each task's end is told as it comes (StepTaskOver)
};

// What a step's client has seen of one output.
struct SeenOutput {
  Rank rank = 0;
  std::string stream = "stdout";  // or "stderr"
  std::int64_t bytes = 0;
};

// A step whose client comes back through a new controller.
struct StepAttach {
  std::string relay_id;
  AttemptKey key;
  std::int32_t step = 0;
  std::vector<Rank> ranks;
  std::string stdout_path;  // not "": it has no relay
  std::string stderr_path;
  std::vector<SeenOutput> seen;
  bool each_exit = false;  // as in the order, and those that were
};

// A command that somebody runs in the world of a task (`dove exec`).
struct ExecProgram {
  std::vector<std::string> command = {};
  std::map<std::string, std::string> environment = {};  // over the task's
  std::string workdir = {};                             // "": the task's
  bool terminal = false;
  bool input = false;      // stdin will come
  std::int32_t rows = 24;  // of the terminal
  std::int32_t columns = 80;
};

struct ExecOrder {
  std::string id;  // of its connection to the controller
  AttemptKey key;
  Rank rank = 0;
  ExecProgram program;
};

// A connection that somebody wants to a port or a socket of a task (`dove port-forward`).
struct ForwardOrder {
  std::string id;  // of its connection to the controller
  AttemptKey key;
  Rank rank = 0;
  std::int32_t port = 0;    // TCP; 0: `socket`
  std::string socket;       // Unix, beneath the task's directory
  bool looks_only = false;  // nothing is connected to: whether it could be is told
};

// The output of a task, asked for.
struct RelayOrder {
  std::string id;
  AttemptKey key;
  Rank rank = 0;
  std::string stream = "stdout";  // or "stderr"
  std::int64_t offset = 0;
  bool follow = false;
  bool apart = false;  // nothing, where standard error goes to standard output's file
};

struct RelayEnd {
  std::string id;
};

// One line: mostly one of these.
struct Control {
  std::vector<AttemptKey> forget;  // ends that are durably recorded
  std::optional<Signal> signal;
  std::optional<StepOrder> step;
  std::optional<StepAttach> step_attach;
  std::optional<ExecOrder> exec;
  std::optional<ForwardOrder> forward;
  std::optional<RelayOrder> relay;
  std::optional<RelayEnd> relay_end;
  std::optional<std::vector<std::string>> expelled;  // as in a SyncAnswer; all of them, also none
  std::optional<Seq> ping;                           // the head of the log
  bool bye = false;                                  // the controller's process ends
  Epoch epoch;                                       // with `ping` or `bye`
  std::string proof;                                 // with `ping`: of both (head_proof of a sync)
};

std::string control_line(const Control& control);
// Errors: malformed_message.
Result<Control> read_control(const nlohmann::json& line);

}  // namespace dove::protocol
