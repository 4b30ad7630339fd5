#include "sim/explore/failures.h"

#include <array>

namespace dove::sim {
namespace {

constexpr std::array kFailures = {
    Failure{"Faulty GPU", 148, FailureEffect::kDevice},
    Failure{"GPU HBM3 Memory", 72, FailureEffect::kDevice},
    Failure{"Software Bug", 54, FailureEffect::kTask},
    Failure{"Network Switch/Cable", 35, FailureEffect::kNetwork},
    Failure{"Host Maintenance", 32, FailureEffect::kReboot},
    Failure{"GPU SRAM Memory", 19, FailureEffect::kDevice},
    Failure{"GPU System Processor", 17, FailureEffect::kDevice},
    Failure{"NIC", 7, FailureEffect::kNetwork},
    Failure{"NCCL Watchdog Timeouts", 7, FailureEffect::kTask},
    Failure{"Silent Data Corruption", 6, FailureEffect::kDevice},
    Failure{"GPU Thermal Interface + Sensor", 6, FailureEffect::kDevice},
    Failure{"SSD", 3, FailureEffect::kReboot},
    Failure{"Power Supply", 3, FailureEffect::kReboot},
    Failure{"Server Chassis", 2, FailureEffect::kReboot},
    Failure{"IO Expansion Board", 2, FailureEffect::kReboot},
    Failure{"Dependency", 2, FailureEffect::kTask},
    Failure{"CPU", 2, FailureEffect::kReboot},
    Failure{"System Memory", 2, FailureEffect::kReboot},
};

}  // namespace

const Failure& draw_failure(Random& random) {
  std::uint64_t all = 0;
  for (const Failure& failure : kFailures) all += failure.count;
  std::uint64_t at = random.below(all);
  for (const Failure& failure : kFailures) {
    if (at < failure.count) return failure;
    at -= failure.count;
  }
  return kFailures.front();
}

}  // namespace dove::sim
