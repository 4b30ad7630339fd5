// Address: where a server listens, and which protocol it speaks; the URLs that people write for
// one; and the networks that clients come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

// Whom limits take for one: "192.0.2.7" of "192.0.2.7:40122", and of an IPv6 address its network,
// "2001:db8:0:7::/64": a subscriber has all addresses of that. "::1" stays what it is. The port may
// be missing.
std::string network_of(std::string_view peer);
// Whether what is sent there stays on this machine: localhost, 127.0.0.0/8, ::1, and the addresses
// that stand for it. By a name alone nobody knows.
bool is_this_machine(const std::string& host);
// Whether a server may be shown a token, at that URL or at each of several with commas between: it
// has TLS, is on this machine, or `insecure` says that everybody on the network is trusted. What is
// no URL is for others to refuse. Error: kInvalid insecure_url, which names the remedy.
Result<void> may_show_secrets(const std::string& urls, bool insecure);

}  // namespace dove::wire
