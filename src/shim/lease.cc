#include "shim/lease.h"

#include <fcntl.h>
#include <unistd.h>

namespace dove::shim {

bool Lease::open(const Config& config, std::int64_t now_us) {
  if (config.lease == nullptr) return true;
  config_ = &config;
  allowance_us_ = now_us + config.lease_allowance_us;
  return !ends(now_us);
}

bool Lease::ends(std::int64_t now_us) {
  std::int64_t deadline_us = read();
  if (deadline_us <= 0) deadline_us = deadline_us_ != INT64_MAX ? deadline_us_ : allowance_us_;
  const bool renewed = deadline_us != deadline_us_ && deadline_us > now_us;
  deadline_us_ = deadline_us;
  if (!renewed) {
    look_at_us_ = INT64_MAX;
    return true;
  }
  const std::int64_t quarter_us = (deadline_us - now_us) / 4;
  look_at_us_ =
      deadline_us - (quarter_us < config_->fence_grace_us ? quarter_us : config_->fence_grace_us);
  return false;
}

// The agent's store is atomic, but a read of a file need not be: two equal ones are taken.
std::int64_t Lease::read() const {
  const int fd = ::open(config_->lease, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::int64_t value = 0;
  for (int i = 0; i < 100; ++i) {
    std::int64_t again = 0;
    if (::pread(fd, &value, sizeof value, 0) != sizeof value ||
        ::pread(fd, &again, sizeof again, 0) != sizeof again) {
      value = 0;
      break;
    }
    if (again == value) break;
  }
  ::close(fd);
  return value;
}

}  // namespace dove::shim
