// ServiceNotice: tells systemd that this program is ready, and that it still gets on
// (sd_notify(3), written here: one datagram to $NOTIFY_SOCKET). Without systemd it does nothing.
// ServiceSocket is the same for programs without a loop.
//
// One thread, the loop's if there is one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wire/loop.h"

namespace dove::programs {

class ServiceSocket {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC of the environment, and takes them out of it: what is
  // started from here is not the service.
  ServiceSocket();

  void ready(const std::string& status) const { tell("READY=1\nSTATUS=" + status); }
  // It gets on. To be called more often than the unit demands; what is too often is not sent.
  void alive();
  // Another line for people.
  void status(const std::string& status) const { tell("STATUS=" + status); }
  void stopping() const { tell("STOPPING=1"); }

  std::int64_t watchdog_us() const { return watchdog_us_; }  // 0: nobody watches

 private:
  void tell(std::string_view text) const;

  std::string path_;
  std::int64_t watchdog_us_ = 0;
  std::int64_t said_us_ = 0;
};

class ServiceNotice {
 public:
  explicit ServiceNotice(wire::Loop& loop) : loop_(loop) {}

  // Ready from now on. While it is watched, `look` is called twice in the time that the unit
  // allows: it says, once, through `alive` and on this loop, that what it looked at gets on.
  using Look = std::function<void(std::function<void()> alive)>;
  void ready(const std::string& status, Look look);
  void status(const std::string& status) const { socket_.status(status); }
  void stopping() const { socket_.stopping(); }

  std::int64_t watchdog_us() const { return socket_.watchdog_us(); }

 private:
  void watch();

  wire::Loop& loop_;
  ServiceSocket socket_;
  Look look_;
  wire::Timer timer_;
};

}  // namespace dove::programs
