// Lease: until when this agent's tasks may run: one deadline in a file, shared with all its shims.
//
// The agent renews it for all tasks with one store; each shim reads it when the deadline it last
// read comes near, and has its task dead by the deadline (shim/lease.h). Instants are
// microseconds of CLOCK_BOOTTIME, so the file means nothing after a reboot: renew before the first
// shim is spawned. 0 is no lease yet. Writer: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::agent {

// Now, on the lease's clock.
std::int64_t boottime_us();

class LeaseWriter {
 public:
  // Makes the file, or takes up the one of a former life with its deadline. A deadline more than a
  // day ahead is from before a reboot, and is cleared. The file must be local, and never replaced.
  static Result<LeaseWriter> open(const std::string& path);
  LeaseWriter(LeaseWriter&& other) noexcept;
  LeaseWriter& operator=(LeaseWriter&& other) noexcept;
  ~LeaseWriter();

  void renew(std::int64_t until_us);
  std::int64_t deadline_us() const;

 private:
  explicit LeaseWriter(std::atomic<std::int64_t>* word) : word_(word) {}
  std::atomic<std::int64_t>* word_ = nullptr;
};

// What the file says; 0 if there is none.
std::int64_t read_lease_us(const std::string& path);

}  // namespace dove::agent
