// SimulatedFleet: fills a log with what a fleet of null runners would have caused, in virtual time.
//
// The real controller on a real store decides; nodes and clients are simulated: `rate` submissions
// a second of one-core jobs that each run for `running / rate` seconds, so that `running` of them
// run at a time. For bench/replay_speed, which needs a long log in a short time. Speaks for itself:
// nothing runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::core {
struct Policies;
}
namespace dove::store {
class LogStore;
class LogKeeper;
}  // namespace dove::store

namespace dove::sim {

struct FleetOptions {
  std::uint64_t events = 1'000'000;  // recorded ones, decisions not counted
  std::int32_t nodes = 1000;
  std::int32_t gpus_per_node = 8;
  std::int32_t cores_per_node = 64;
  std::int64_t rate_per_s = 200;
  std::int64_t running = 10'000;
  const core::Policies* policies = nullptr;
  std::string policy_digest;
};

// Blocks until the log holds as many events as the options say. The store is empty before.
Result<void> record_fleet(store::LogStore& log, store::LogKeeper& keeper,
                          const FleetOptions& options);

}  // namespace dove::sim
