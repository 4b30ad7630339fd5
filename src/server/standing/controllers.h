// ControllerPeers: what the API knows about the other controllers that share the cluster's log.
//
// The program fills it in where there are several. Loop thread only; nothing in it blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "listener/refusal_tally.h"
#include "model/level.h"

namespace dove::server {

// A controller, as it last said that it is there.
struct ControllerPeer {
  std::string name;
  std::string url;
  std::string version;
  bool leads = false;
  std::uint64_t folded = 0;  // the log up to here
  std::int64_t ago_us = 0;
  std::int32_t level = kProgramLevel;  // the newest that it reads (model/level.h)
  listener::RefusalsSaid refused = {};
};

struct ControllerPeers {
  // This one first. Unset: there is no other one.
  std::function<std::vector<ControllerPeer>()> all = {};
  // Since this one leads it could read which others there are. Unset: always.
  std::function<bool()> are_known = {};
  // Begins to hand over, "": to the standby that has folded most; gives which that is. This server
  // is shut down when it is done.
  std::function<Result<ControllerPeer>(const std::string& to)> hand_over = {};
};

}  // namespace dove::server
