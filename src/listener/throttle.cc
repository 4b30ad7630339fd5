#include "listener/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/address.h"
#include "wire/server_limits.h"

namespace dove::listener {
namespace {

constexpr std::size_t kKnownMax = 10'000;  // then those who have rested are forgotten

Error limited(std::string message) {
  return Error{ErrorKind::kUnavailable, wire::kRateLimited, std::move(message), ""};
}

}  // namespace

Throttle::Throttle(ThrottleLimits limits) : limits_(limits) {}

Throttle::~Throttle() = default;

bool Throttle::take(Bucket& bucket, const Rate& rate, std::int64_t now_us, std::int64_t amount) {
  const std::int64_t earned = (now_us - bucket.at_us) * rate.per_s / 1'000'000;
  if (bucket.at_us == 0 || bucket.left + earned >= rate.burst) {
    bucket.left = rate.burst;
    bucket.at_us = now_us;
  } else if (earned > 0) {
    bucket.left += earned;
    bucket.at_us += earned * 1'000'000 / rate.per_s;
  }
  if (bucket.left <= 0) return false;
  bucket.left -= amount;
  return true;
}

bool Throttle::is_full(const Bucket& bucket, const Rate& rate, std::int64_t now_us) {
  return bucket.at_us == 0 ||
         bucket.left + (now_us - bucket.at_us) * rate.per_s / 1'000'000 >= rate.burst;
}

bool Throttle::has_unread(const Principal& principal) {
  return principal.unread != nullptr && principal.unread.use_count() > 1;
}

void Throttle::sweep(std::int64_t now_us) {
  if (principals_.size() > kKnownMax) {
    std::erase_if(principals_, [&](const auto& entry) {
      return *entry.second.in_progress == 0 && !has_unread(entry.second) &&
             is_full(entry.second.requests, limits_.requests, now_us) &&
             is_full(entry.second.body_kib, limits_.body_kib, now_us);
    });
  }
  if (failures_.size() > kKnownMax) {
    std::erase_if(failures_, [&](const auto& entry) {
      return is_full(entry.second, limits_.failures, now_us);
    });
  }
}

Result<std::shared_ptr<void>> Throttle::begin(const std::string& principal, std::int64_t now_us,
                                              std::size_t bytes) {
  sweep(now_us);
  Principal& known = principals_[principal];
  if (!take(known.requests, limits_.requests, now_us)) {
    return limited(
        fmt::format("{} sends more than {} requests a second; send fewer, several in one "
                    "where that can be (arrays, lists), and try again later",
                    principal, limits_.requests.per_s));
  }
  const auto kib = static_cast<std::int64_t>((bytes + 1023) / 1024);
  if (kib > 0 && !take(known.body_kib, limits_.body_kib, now_us, kib)) {
    return limited(
        fmt::format("{} sends more than {} KiB a second; send less at a time, upload "
                    "large data as files, and try again later",
                    principal, limits_.body_kib.per_s));
  }
  if (*known.in_progress >= limits_.in_progress_max) {
    return limited(
        fmt::format("{} has {} requests in progress; wait for answers before you send "
                    "more",
                    principal, *known.in_progress));
  }
  if (known.unread != nullptr && known.unread->is_full()) {
    return limited(
        fmt::format("{} has {} MiB of answers that it has not read; read them, or close their "
                    "connections, and try again later",
                    principal, known.unread->bytes() >> 20));
  }
  ++*known.in_progress;
  return std::shared_ptr<void>(nullptr, [count = known.in_progress](void*) { --*count; });
}

std::shared_ptr<wire::Backlog> Throttle::unread_of(const std::string& principal) {
  auto& unread = principals_[principal].unread;
  if (unread == nullptr) unread = std::make_shared<wire::Backlog>(limits_.unread_bytes_max);
  return unread;
}

Error Throttle::failed(std::string_view address, Error why, std::int64_t now_us) {
  sweep(now_us);
  const std::string network = wire::network_of(address);
  if (take(failures_[network], limits_.failures, now_us)) return why;
  return limited(fmt::format("too many requests from {} had no token that is good; the latest: {}",
                             network, why.message));
}

std::string_view host_of_peer(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace dove::listener
