// ServiceNotice: tells systemd that this program is ready, and that it still gets on
// (sd_notify(3), written here: one datagram to $NOTIFY_SOCKET). Without systemd it does nothing.
//
// Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wire/loop.h"

namespace dove::programs {

class ServiceNotice {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC of the environment, and takes them out of it: what is
  // started from here is not the service.
  explicit ServiceNotice(wire::Loop& loop);

  // Ready from now on. While it is watched, `look` is called twice in the time that the unit
  // allows: it says, once, through `alive` and on this loop, that what it looked at gets on.
  using Look = std::function<void(std::function<void()> alive)>;
  void ready(const std::string& status, Look look);
  // Another line for people.
  void status(const std::string& status) { tell("STATUS=" + status); }
  void stopping();

  std::int64_t watchdog_us() const { return watchdog_us_; }  // 0: nobody watches

 private:
  void watch();
  void tell(std::string_view text) const;

  wire::Loop& loop_;
  std::string socket_;
  std::int64_t watchdog_us_ = 0;
  Look look_;
  wire::Timer timer_;
};

}  // namespace dove::programs
