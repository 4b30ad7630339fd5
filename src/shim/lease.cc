#include "shim/lease.h"

#include <fcntl.h>
#include <unistd.h>

#include "shim/lease_file.h"

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

// One that is damaged is as good as none: the task ends by the deadline that was read before.
std::int64_t Lease::read() const {
  const int fd = ::open(config_->lease, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  agent::shim::LeaseFile file;
  const agent::shim::LeaseRead read = agent::shim::read_lease(fd, file);
  ::close(fd);
  const bool is_good =
      read == agent::shim::LeaseRead::kWhole || read == agent::shim::LeaseRead::kFormer;
  return is_good ? file.deadline_us : 0;
}

}  // namespace dove::shim
