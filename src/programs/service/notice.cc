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

namespace dove::programs {
namespace {

std::string taken(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

ServiceNotice::ServiceNotice(wire::Loop& loop) : loop_(loop), socket_(taken("NOTIFY_SOCKET")) {
  const std::string usec = taken("WATCHDOG_USEC");
  const std::string pid = taken("WATCHDOG_PID");
  if (!pid.empty() && pid != std::to_string(getpid())) return;
  std::from_chars(usec.data(), usec.data() + usec.size(), watchdog_us_);
}

void ServiceNotice::tell(std::string_view text) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // in the abstract namespace
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)!::sendto(fd, text.data(), text.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), size);
  ::close(fd);
}

void ServiceNotice::ready(const std::string& status, Look look) {
  tell("READY=1\nSTATUS=" + status);
  look_ = std::move(look);
  if (watchdog_us_ > 0 && !socket_.empty()) watch();
}

void ServiceNotice::watch() {
  timer_ = loop_.after(std::chrono::microseconds(watchdog_us_ / 2), [this] { watch(); });
  look_([this] { tell("WATCHDOG=1"); });
}

void ServiceNotice::stopping() { tell("STOPPING=1"); }

}  // namespace dove::programs
