// RefusalTally: what one controller has refused since its process began, as the list of controllers
// shows it: one that stands by cannot write it into the log, where that of the leader is.
//
// Small, whatever comes: sums, and the last few that differ. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "telemetry/clock.h"

namespace dove::listener {

struct RefusalsSaid {
  struct Last {
    CallsRefused calls;
    std::int64_t ago_ms = 0;
  };
  std::int64_t calls = 0;       // without a token that is good, or without the right
  std::int64_t handshakes = 0;  // connections that ended before TLS stood
  std::vector<Last> last;       // the most recent first; for an hour
};

class RefusalTally {
 public:
  // `handshakes`: how many have failed in this process; any thread.
  explicit RefusalTally(std::function<std::int64_t()> handshakes,
                        std::function<std::int64_t()> monotonic_us = telemetry::monotonic_us);

  void note(const CallsRefused& refused);
  RefusalsSaid said() const;

 private:
  struct Noted {
    CallsRefused calls;
    std::int64_t at_us = 0;
  };

  const std::function<std::int64_t()> handshakes_;
  const std::function<std::int64_t()> monotonic_us_;
  mutable std::mutex mutex_;
  std::int64_t calls_ = 0;
  std::vector<Noted> last_;  // the most recent first
};

// For another controller: JSON without spaces and in ASCII, `size_max` at most, for which the
// oldest are left out. "": nothing was refused.
std::string write_refusals(RefusalsSaid said, std::size_t size_max);
// What cannot be read was not said.
RefusalsSaid read_refusals(std::string_view text);

}  // namespace dove::listener
