// ControllerOptions: what a controller is started with. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/declared.h"
#include "model/level.h"
#include "model/time.h"

namespace dove::core {
struct Policies;
}

namespace dove::controller {

struct ControllerOptions {
  const core::Policies* policies = nullptr;  // outlives the controller; nullptr: none is called
  std::string policy_digest;                 // as logged: what replay must run with
  // Declared in the first batch of an empty log, and of no other; none: as ClusterSettings{}.
  std::optional<ClusterSettings> new_cluster;
  std::int32_t first_level = kNewestLevel;   // of an empty log (model/level.h)
  std::string build;                         // as logged: version and digest of the program
  std::string holder;                        // who opens the log: "host:pid", for people
  std::function<std::int64_t()> clock;       // microseconds UTC; empty: the real one (instants.h)
  std::function<std::int64_t()> monotonic;   // microseconds, for retries; empty: the real one
  std::function<std::int64_t()> free_bytes;  // of the log's disk; empty: not watched
  // Where time goes on, whatever the machine's clock says (microseconds UTC); 0: where that is.
  std::int64_t begin_us = 0;
  // Where begin_us is not: when the machine was last on (microseconds UTC), before it was started
  // anew; 0: not known (boot_doubt.h).
  std::int64_t off_since_us = 0;
  std::int64_t doubted_us = 0;  // with begin_us: BootDoubt::goes_on_us() of a former life; 0: none
  bool clock_accepted = false;  // with begin_us: somebody said that the machine's clock is right
  // Told now and then, and at the end, what an instant and monotonic() are, and whether times still
  // run towards a clock that was accepted, or `doubted_us`; empty: nobody is.
  std::function<void(std::int64_t now_us, std::int64_t monotonic_us, bool accepted,
                     std::int64_t doubted_us)>
      keep_time;
  std::int64_t free_floor_bytes = 64LL << 20;  // below it new work is refused
  std::int64_t full_floor_bytes = 2LL << 20;   // below it everything is but kRelief
  std::int64_t full_retry_us = 1'000'000;  // after a full disk, writing is tried again this often
  // The state hash is recorded this often at most, and more rarely the more jobs there are.
  std::uint64_t hash_every_batches = 256;
  std::uint64_t snapshot_every_records = 100'000;
  std::uint64_t records_kept = 5'000'000;  // retention of the log by size, and by age:
  Span records_age_max = seconds(30 * 24 * 3600);
  std::function<void(const Error&)> on_fatal;  // controller thread; empty: aborts the process
};

}  // namespace dove::controller
