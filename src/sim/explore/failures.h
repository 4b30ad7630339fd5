// Failures of the physical world, at the rates that were published.
//
// Source: Llama 3 (arXiv 2407.21783), table 5: 419 unexpected interruptions in 54 days on 16 384
// GPUs in nodes of 8, which is 3.79 a 1 000 node-days, by component.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace dove::sim {

enum class FailureEffect {
  kDevice,   // tasks on the device die; the node is drained and repaired
  kReboot,   // the machine restarts
  kNetwork,  // the machine is cut off
  kTask,     // what runs there dies, by its software
};

struct Failure {
  std::string_view component;
  std::uint64_t count;  // of 419
  FailureEffect effect;
};

// The number of nodes that fail in a day, among 1 000 000.
constexpr std::uint64_t kFailuresPerMillionNodeDays = 3'790;

// Which component fails next, by the table's counts.
const Failure& draw_failure(Random& random);

}  // namespace dove::sim
