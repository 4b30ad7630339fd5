// Which settings of running jobs have no effect, and why, as the agents of their attempts report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "backends/native/attempt_notes.h"

namespace dove::backends {

// An entry of kind "warnings" in an agent's report.
struct WarningsSaid {
  JobId job;
  AttemptNumber attempt = 0;
  std::vector<std::string> texts;
};
// Throws nlohmann::json::exception for one that is not of that form.
WarningsSaid read_warnings(const nlohmann::json& item);

class WarningBoard {
 public:
  void take(const core::State& state, NodeId node, WarningsSaid said);
  // Adds "warnings" to the job's object: a list of texts with the nodes that they are about, of the
  // last attempt.
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  AttemptNotes<std::vector<std::string>> texts_;
};

}  // namespace dove::backends
