#include "programs/service/notice.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "telemetry/clock.h"

namespace dove::programs {
namespace {

std::string taken(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

ServiceSocket::ServiceSocket() : path_(taken("NOTIFY_SOCKET")) {
  const std::string usec = taken("WATCHDOG_USEC");
  const std::string pid = taken("WATCHDOG_PID");
  if (path_.empty() || (!pid.empty() && pid != std::to_string(getpid()))) return;
  std::from_chars(usec.data(), usec.data() + usec.size(), watchdog_us_);
}

void ServiceSocket::tell(std::string_view text) const {
  sockaddr_un address{};
  if (path_.empty() || path_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';  // in the abstract namespace
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  (void)!::sendto(fd, text.data(), text.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), size);
  ::close(fd);
}

void ServiceSocket::alive() {
  const std::int64_t now_us = telemetry::monotonic_us();
  if (watchdog_us_ == 0 || (said_us_ != 0 && now_us - said_us_ < watchdog_us_ / 4)) return;
  said_us_ = now_us;
  tell("WATCHDOG=1");
}

void ServiceNotice::ready(const std::string& status, Look look) {
  socket_.ready(status);
  look_ = std::move(look);
  if (watchdog_us() > 0) watch();
}

void ServiceNotice::watch() {
  timer_ = loop_.after(std::chrono::microseconds(watchdog_us() / 2), [this] { watch(); });
  look_([this] { socket_.alive(); });
}

}  // namespace dove::programs
