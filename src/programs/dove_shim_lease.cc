#include "programs/dove_shim_lease.h"

#include <fcntl.h>
#include <unistd.h>

namespace dove::shim {

void Lease::open(const Config& config, std::int64_t now_us) {
  if (config.lease == nullptr) return;
  config_ = &config;
  opened_us_ = now_us;
  look_at_us_ = now_us;
  ends(now_us);
}

bool Lease::ends(std::int64_t now_us) {
  const std::int64_t allowance_us = opened_us_ + config_->lease_allowance_us;
  std::int64_t deadline_us = read();
  if (deadline_us <= 0) deadline_us = allowance_us;
  std::int64_t grace_us = (deadline_us - now_us) / 4;
  if (grace_us > config_->fence_grace_us) grace_us = config_->fence_grace_us;
  const bool renewed = deadline_us != deadline_us_ && grace_us > 0;
  if (!renewed) {
    look_at_us_ = INT64_MAX;
    deadline_us_ = deadline_us;
    return true;
  }
  deadline_us_ = deadline_us;
  look_at_us_ = deadline_us - grace_us;
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
