// The mechanism that keeps the tasks of attempts to their shares of devices, as their agents
// report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "backends/native/boards/attempt_notes.h"
#include "protocol/reports.h"

namespace dove::backends {

class ShareBoard {
 public:
  void take(const core::State& state, NodeId node, const protocol::Shares& said);
  // Adds "shares" to the job's object: by node of its last attempt "mps", "library" or "nobody".
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  AttemptNotes<std::string> keepers_;
};

}  // namespace dove::backends
