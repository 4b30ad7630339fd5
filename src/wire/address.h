// Address: where a server listens, and how it is spoken to; and the URLs that people write for one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace dove::wire {

class Tls;

struct Address {
  std::string host = {};  // a name or an address, without brackets
  std::uint16_t port = 0;
  std::shared_ptr<const Tls> tls = nullptr;  // nullptr: plain
  std::string unix_path = {};  // a socket of this machine, in place of all that; "": none

  std::string text() const;  // "127.0.0.1:7717", "[::1]:7717"; "localhost" of a Unix socket
};

// "https://gpu-head:7717/prefix" in its parts.
struct ServerUrl {
  bool secure = false;
  std::string host;
  std::uint16_t port = 0;  // 80 or 443 where the URL has none
  std::string prefix;      // "" or "/prefix", without a slash at its end
};

// Error kInvalid bad_url.
Result<ServerUrl> parse_server_url(const std::string& url);

}  // namespace dove::wire
