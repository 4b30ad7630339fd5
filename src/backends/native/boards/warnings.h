// Which settings of running jobs have no effect, and why, as the agents of their attempts report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "backends/native/boards/attempt_notes.h"
#include "protocol/reports.h"

namespace dove::backends {

class WarningBoard {
 public:
  void take(const core::State& state, NodeId node, const protocol::Warnings& said);
  // Adds "warnings" to the job's object: a list of texts with the nodes that they are about, of the
  // last attempt.
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  AttemptNotes<std::vector<std::string>> texts_;
};

}  // namespace dove::backends
