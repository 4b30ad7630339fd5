// ShareBoard: who holds the tasks of attempts to their shares of devices, as their agents say.
//
// In memory only: agents tell it again at each sync, and of attempts that are over it is known as
// long as this process lives, of the last ones. Loop thread only.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/state.h"

namespace dove::server {

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
  // What `node` said; of an attempt that it does not have it is dropped.
  void take(const core::State& state, NodeId node, const ShareSaid& said);
  // Adds "shares" to the job's object: by node of its last attempt "mps", "library" or "nobody".
  void show(const core::State& state, JobId job, nlohmann::json& object) const;

 private:
  struct Kept {
    AttemptNumber attempt = 0;
    std::map<NodeId, std::string> keepers;
  };
  std::map<JobId, Kept> jobs_;
};

}  // namespace dove::server
