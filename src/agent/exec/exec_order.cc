#include "agent/exec/exec_order.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dove::agent {

Result<ExecOrder> read_exec_order(const nlohmann::json& exec) {
  ExecOrder order;
  try {
    order.id = exec.at("id").get<std::string>();
    order.key.job = JobId(exec.at("job").get<std::uint64_t>());
    order.key.attempt = exec.at("attempt").get<AttemptNumber>();
    order.rank = exec.at("rank").get<Rank>();
    order.command = exec.at("command").get<std::vector<std::string>>();
    order.environment = exec.value("environment", order.environment);
    order.workdir = exec.value("workdir", "");
    order.terminal = exec.value("terminal", false);
    order.takes_input = exec.value("input", false);
    order.size = {exec.value("rows", 24), exec.value("columns", 80)};
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorKind::kInvalid, "malformed_order", e.what(), ""};
  }
  // It becomes a part of files' names.
  const bool plain = std::all_of(order.id.begin(), order.id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
  if (order.id.empty() || !plain || order.command.empty()) {
    return Error{ErrorKind::kInvalid, "malformed_order", "an exec has an id and a command", ""};
  }
  return order;
}

}  // namespace dove::agent
