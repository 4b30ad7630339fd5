// The nodes on which an executor is to start no new work because they are faulty, drained or under
// repair here. Pure.
//
// A node that is closed only because of an executor, or whose agent is silent, is not among them.
// The executor knows the former itself, and sees for itself whether the machine is up.
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
