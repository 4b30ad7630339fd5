// Throttle: how much of the server one person, program or address may take, so that none takes it
// from all others.
//
// Whoever is let in has a rate and a number of requests in progress of their own; an address whose
// requests show no token that is good has little; a network of IPv6 is one address
// (wire/address.h). Agents with a good token are never held up. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "wire/streams/backlog.h"

namespace dove::listener {

// Requests a second in the long run, and how many at once after a pause.
struct Rate {
  std::int64_t per_s = 0;
  std::int64_t burst = 0;
};

struct ThrottleLimits {
  Rate requests{4'000, 40'000};        // of one principal
  Rate body_kib{16 << 10, 256 << 10};  // what is large takes long to read
  std::size_t in_progress_max = 4'000;
  std::size_t unread_bytes_max = 256 << 20;  // answers wait with, at all connections
  Rate failures{10, 1'000};                  // of one address
};

class Throttle {
 public:
  explicit Throttle(ThrottleLimits limits = {});
  ~Throttle();

  // A request of `principal` with a body of that many bytes begins, and ends with the last copy of
  // what is returned. Error rate_limited.
  Result<std::shared_ptr<void>> begin(const std::string& principal, std::int64_t now_us,
                                      std::size_t bytes = 0);
  // Where the answers to `principal`, which has begun a request, count (Responder::counts_at).
  std::shared_ptr<wire::Backlog> unread_of(const std::string& principal);
  // A request of `address` showed no token that is good, as `why` says. Whoever does that too often
  // is told rate_limited in its place.
  Error failed(std::string_view address, Error why, std::int64_t now_us);

 private:
  struct Bucket {
    std::int64_t left = 0;
    std::int64_t at_us = 0;
  };
  struct Principal {
    Bucket requests;
    Bucket body_kib;
    std::shared_ptr<std::size_t> in_progress = std::make_shared<std::size_t>(0);
    std::shared_ptr<wire::Backlog> unread;  // once it is asked for
  };
  // False when nothing is left; else `amount` is taken, of what is yet to be earned, too.
  static bool take(Bucket& bucket, const Rate& rate, std::int64_t now_us, std::int64_t amount = 1);
  static bool is_full(const Bucket& bucket, const Rate& rate, std::int64_t now_us);
  // Or a connection that may have some.
  static bool has_unread(const Principal& principal);
  void sweep(std::int64_t now_us);

  const ThrottleLimits limits_;
  std::unordered_map<std::string, Principal> principals_;
  std::unordered_map<std::string, Bucket> failures_;
};

// "192.0.2.7" of "192.0.2.7:40122".
std::string_view host_of_peer(std::string_view peer);

}  // namespace dove::listener
