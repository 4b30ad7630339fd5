// Replay: decides again over a log and compares every decision and state hash with what was
// recorded.
//
// Streams batch by batch; memory is that of one State. Pure but for the log it reads and the CPU
// time it measures. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "store/log_store.h"

namespace dove::core {
struct Policies;
}

namespace dove::controller {

struct ReplayOptions {
  const core::Policies* policies = nullptr;
  std::string policy_digest;  // batches decided under another one are folded, not verified
};

struct ReplayReport {
  std::uint64_t batches = 0;
  std::uint64_t events = 0;
  std::uint64_t decisions = 0;
  std::uint64_t verified_batches = 0;
  std::uint64_t unverified_batches = 0;  // decided under policies that this program does not have
  std::uint64_t hashes_compared = 0;
  std::int64_t cpu_us = 0;
  Seq first;  // records compared
  Seq last;
  std::string build;  // of the newest term in the log
  std::uint64_t state_hash = 0;
  // In words, with batch and seq; none when everything was as recorded.
  std::optional<std::string> first_difference;

  bool clean() const { return !first_difference.has_value(); }
};

// From the beginning of the log, or from `snapshot` when given (a log whose beginning was
// forgotten). Stops at the first difference. Errors are those of reading (kCorrupt, kNotFound).
Result<ReplayReport> replay_verify(store::LogStore& log,
                                   const std::optional<store::Snapshot>& snapshot,
                                   const ReplayOptions& options);

}  // namespace dove::controller
