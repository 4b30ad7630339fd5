// RefusalBoard: agents that were refused, so that `dove nodes NAME` shows why a machine waits.
//
// Kept in memory and for an hour after the last attempt: an agent tries again every few seconds.
// Loop thread only. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace dove::backends {

class RefusalBoard {
 public:
  // Logs it when it is news.
  void refused(NodeId node, const std::string& name, const std::string& address, const Error& why,
               std::int64_t now_us);
  // An agent was let in: what was refused before is over, unless it was another machine's.
  void admitted(NodeId node, const std::string& address);
  void show(NodeId node, std::int64_t now_us, nlohmann::json& object) const;

 private:
  struct Refusal {
    std::string address;
    std::string code;
    std::string why;
    std::int64_t at_us = 0;
    std::int64_t tries = 0;
  };
  std::map<NodeId, Refusal> refusals_;
};

}  // namespace dove::backends
