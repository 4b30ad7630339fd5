// A POST to a server that a person named: a webhook. It reaches only permitted networks, goes where
// the URL says and nowhere else, and reads next to nothing of the answer.
//
// Blocks up to its time-out. Any thread.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"
#include "wire/outside/networks.h"

namespace dove::wire {

struct OutsideUrl {
  bool secure = false;
  std::string host;    // lower case, of IPv6 without brackets
  std::string origin;  // "https://hooks.example.org", with the port where it is not the usual one
};

// As the sender reads it. Error kInvalid bad_url: another scheme than http and https, a user in it,
// a fragment, control characters, more than 1 KiB.
Result<OutsideUrl> parse_outside_url(const std::string& url);

struct WebPost {
  std::string url;
  Pairs headers;
  std::string body;
  std::string ca_file;  // "": the system's authorities
  int timeout_ms = 10'000;
};

// The status of the answer. `stop` ends it within a second. Errors name the host, never the whole
// URL, which may hold a secret:
//   kDenied address_refused · kUnavailable host_unknown, unreachable, untrusted, broken, stopped
//   kTimeout timeout · kInvalid bad_url
Result<int> post_outside(const WebPost& post, const Networks& networks,
                         const std::atomic<bool>& stop);

}  // namespace dove::wire
