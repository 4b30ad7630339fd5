// Lease: until when the task may run, as its agent says in a shared file (agent/session/lease.h).
//
// The file is read when the deadline last read has come, never in between.
#pragma once

#include <cstdint>

#include "shim/config.h"

namespace dove::shim {

class Lease {
 public:
  // Reads the lease for the first time: false if it is over already. Without a path in the
  // configuration it never ends.
  bool open(const Config& config, std::int64_t now_us);

  // When to look at the lease again; INT64_MAX: never.
  std::int64_t look_at_us() const { return look_at_us_; }
  // REQUIRES: look_at_us() has come. Reads again: true if the lease was not renewed, and the task
  // must be over by deadline_us().
  bool ends(std::int64_t now_us);
  std::int64_t deadline_us() const { return deadline_us_; }

 private:
  std::int64_t read() const;

  const Config* config_ = nullptr;
  std::int64_t allowance_us_ = 0;
  std::int64_t deadline_us_ = INT64_MAX;
  std::int64_t look_at_us_ = INT64_MAX;
};

}  // namespace dove::shim
