// Which nodes an executor is to give no new work, because they are sick, drained or under repair
// here. Pure.
//
// A node that is closed only because of an executor, or whose agent is silent, is not among them:
// the executor knows the former itself, and sees for itself whether the machine is there.
#pragma once

#include <string>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

struct WantedDrain {
  const Node* node = nullptr;
  std::string why;  // for its administrators; never empty
};

// Ascending by node. Points into `state`.
std::vector<WantedDrain> wanted_drains(const State& state, const std::string& executor);

}  // namespace dove::core
