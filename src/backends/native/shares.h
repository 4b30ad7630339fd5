// Which mechanism holds the tasks of attempts to their shares of devices, as their agents report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "backends/native/attempt_notes.h"

namespace dove::backends {

// An entry of kind "shares" in an agent's report.
struct ShareSaid {
  JobId job;
  AttemptNumber attempt = 0;
  std::string keeper;
};
// Throws nlohmann::json::exception for one that is not of that form.
ShareSaid read_share_said(const nlohmann::json& item);

class ShareBoard {
 public:
  void take(const core::State& state, NodeId node, const ShareSaid& said);
  // Adds "shares" to the job's object: by node of its last attempt "mps", "library" or "nobody".
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  AttemptNotes<std::string> keepers_;
};

}  // namespace dove::backends
