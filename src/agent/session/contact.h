// Contact: what an agent must still know of the controller after it was killed and restarted.
//
// Until when the controller counts on it (CLOCK_BOOTTIME, so that a restart does not lengthen the
// grace), what was agreed on, and the highest epoch and log position it has seen. Kept in one small
// file that is overwritten in place; a power failure may lose it, and a new boot ends all tasks
// anyway. The open file is locked: one agent per data directory. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::agent {

class Contact {
 public:
  // Reads `path`, or begins with zeros when there is none. Errors: kConflict when another agent has
  // it open for as long as `wait` (it blocks), kInternal when it cannot be written.
  static Result<Contact> open(const std::string& path, std::chrono::seconds wait);
  Contact(Contact&& other) noexcept;
  Contact& operator=(Contact&&) = delete;
  ~Contact();

  std::int64_t heard_at_us() const { return facts_.heard_at_us; }  // 0: never
  std::int64_t fence_us() const { return facts_.fence_us; }        // 0: not known
  std::int64_t disconnect_grace_us() const { return facts_.disconnect_grace_us; }
  std::uint64_t epoch() const { return facts_.epoch; }
  std::uint64_t log_head() const { return facts_.log_head; }

  // A message sent at that instant was answered, so the controller has heard of us since.
  void heard(std::int64_t boottime_us);
  void saw(std::uint64_t epoch, std::uint64_t log_head);
  void agreed(std::int64_t fence_us, std::int64_t disconnect_grace_us);

 private:
  struct Facts {
    std::int64_t heard_at_us = 0;
    std::int64_t fence_us = 0;
    std::int64_t disconnect_grace_us = 0;
    std::uint64_t epoch = 0;
    std::uint64_t log_head = 0;
  };
  explicit Contact(int fd) : fd_(fd) {}
  void keep();

  int fd_ = -1;
  Facts facts_;
};

}  // namespace dove::agent
