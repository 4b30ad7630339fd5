// Networks: the addresses that this machine may call because a person named them: those of the
// public internet, and the networks that the site allows in addition.
//
// A name is judged by the address that it has at the moment of the connection, so that a name which
// changes its address gets no further. Values only, any thread.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::wire {

class Networks {
 public:
  // Adds "10.20.0.0/16" or "fd00:1::/48", or a single address. Error kInvalid bad_network.
  Result<void> allow(std::string_view network);
  // Whether it may be called.
  bool permits(const sockaddr& address) const;
  bool permits(std::string_view address) const;  // false also when it is none

 private:
  using Bytes = std::array<std::uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d
  struct Range {
    Bytes bytes;
    int bits;
  };
  static bool parse(std::string_view text, Bytes& out);
  static bool holds(const Range& range, const Bytes& address);
  static bool is_public(const Bytes& address);
  bool permits(const Bytes& address) const;

  std::vector<Range> allowed_;
};

}  // namespace dove::wire
