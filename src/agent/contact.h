// Contact: what an agent must still know of the controller after it was killed and restarted.
//
// When it last heard of it (CLOCK_BOOTTIME, so that a restart does not lengthen the grace that the
// controller counts on), and the highest epoch and log position it has seen. Kept in one small file
// that is overwritten in place; a power failure may lose it, and a new boot ends all tasks anyway.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::agent {

class Contact {
 public:
  // Reads `path`, or begins with zeros when there is none.
  static Result<Contact> open(const std::string& path);
  Contact(Contact&& other) noexcept;
  Contact& operator=(Contact&&) = delete;
  ~Contact();

  std::int64_t heard_at_us() const { return facts_.heard_at_us; }  // 0: never
  std::uint64_t epoch() const { return facts_.epoch; }
  std::uint64_t log_head() const { return facts_.log_head; }

  void heard(std::int64_t boottime_us, std::uint64_t epoch, std::uint64_t log_head);

 private:
  struct Facts {
    std::int64_t heard_at_us = 0;
    std::uint64_t epoch = 0;
    std::uint64_t log_head = 0;
  };
  explicit Contact(int fd) : fd_(fd) {}

  int fd_ = -1;
  Facts facts_;
};

}  // namespace dove::agent
