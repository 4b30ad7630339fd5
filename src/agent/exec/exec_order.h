// ExecOrder: a command that somebody runs in the world of a task here (`dove exec`), as the
// controller orders it. Plain values. Include nlohmann/json.hpp only in .cc files.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/exec/exec_ends.h"
#include "base/result.h"

namespace dove::agent {

struct ExecOrder {
  std::string id;  // of its connection to the controller
  AttemptKey key;
  Rank rank = 0;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // over the task's
  std::string workdir;                             // "": the task's
  bool terminal = false;
  bool takes_input = false;
  TerminalSize size;
};

Result<ExecOrder> read_exec_order(const nlohmann::json& exec);

}  // namespace dove::agent
