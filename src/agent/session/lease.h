// Lease: until when this agent's tasks may run: one deadline in a file (shim/lease_file.h), shared
// with all its shims.
//
// The agent renews it for all tasks at once. Each shim reads it when the deadline that it last read
// approaches, and has its task dead by the deadline (shim/lease.h). Instants are microseconds of
// CLOCK_BOOTTIME, so the file means nothing after a reboot: renew before the first shim is spawned.
// 0 is no lease yet. Writer: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

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
  // The agent ends in order: leaves the file as former versions have it, as one of them may be
  // next, which writes deadlines without checks. Shims then read it as one of theirs. What fails is
  // logged. REQUIRES: nothing is renewed any more.
  void leave();
  std::int64_t deadline_us() const;

 private:
  LeaseWriter(shim::LeaseFile* file, std::string path) : file_(file), path_(std::move(path)) {}
  shim::LeaseFile* file_ = nullptr;
  std::string path_;
  int older_ = 0;  // of its checks
};

// What the file says; 0 if there is none, or it is damaged.
std::int64_t read_lease_us(const std::string& path);

}  // namespace dove::agent
