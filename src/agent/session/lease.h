// Lease: until when this agent's tasks may run: one deadline in a file (shim/lease_file.h), shared
// with all its shims.
//
// The agent renews it for all tasks at once; each shim reads it when the deadline it last
// read comes near, and has its task dead by the deadline (shim/lease.h). Instants are
// microseconds of CLOCK_BOOTTIME, so the file means nothing after a reboot: renew before the first
// shim is spawned. 0 is no lease yet. Writer: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "shim/lease_file.h"

namespace dove::agent {

// Now, on the lease's clock.
std::int64_t boottime_us();

class LeaseWriter {
 public:
  // Makes the file, or takes up the one of a former life, or version, with its deadline. One that
  // is damaged, or more than a day ahead and so from before a reboot, is cleared. The file must be
  // local, and never replaced.
  static Result<LeaseWriter> open(const std::string& path);
  LeaseWriter(LeaseWriter&& other) noexcept;
  LeaseWriter& operator=(LeaseWriter&& other) noexcept;
  ~LeaseWriter();

  void renew(std::int64_t until_us);
  std::int64_t deadline_us() const;

 private:
  explicit LeaseWriter(shim::LeaseFile* file) : file_(file) {}
  shim::LeaseFile* file_ = nullptr;
  int older_ = 0;  // of its checks
};

// What the file says; 0 if there is none, or it is damaged.
std::int64_t read_lease_us(const std::string& path);

}  // namespace dove::agent
