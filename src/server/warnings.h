// WarningBoard: what of running jobs has no effect, and why, as the agents of their attempts say.
//
// In memory only, gone with the process: agents tell it again at each sync. Nothing of it is
// trusted further than it concerns the job whose task the node has. Loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/state.h"

namespace dove::server {

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
  // What `node` said; of an attempt that it does not have it is dropped.
  void take(const core::State& state, NodeId node, WarningsSaid said);
  // Adds "warnings" to the job's object: a list of texts with the nodes that they are about, of the
  // last attempt.
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  struct Said {
    AttemptNumber attempt = 0;
    std::map<NodeId, std::vector<std::string>> by_node;
  };
  std::map<JobId, Said> jobs_;
  std::deque<JobId> order_;  // as they came; the first are forgotten
};

}  // namespace dove::server
