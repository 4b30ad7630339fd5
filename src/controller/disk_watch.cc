#include "controller/disk_watch.h"

#include <algorithm>
#include <utility>

#include "controller/refusals.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr int kDoublings_max = 4;  // of the time until the next try

}  // namespace

std::int64_t DiskWatch::monotonic_us() const {
  return options_.monotonic ? options_.monotonic() : telemetry::monotonic_us();
}

std::optional<std::int64_t> DiskWatch::full_for_us() const {
  if (full_until_us_ == 0) return std::nullopt;
  return std::max<std::int64_t>(full_until_us_ - monotonic_us(), 0);
}

Error DiskWatch::error() const {
  if (!options_.free_bytes) return database_full_error();
  const bool is_low = room_ != Room::kNone;
  return disk_full_error(is_low ? options_.free_floor_bytes : options_.full_floor_bytes,
                         options_.free_bytes());
}

void DiskWatch::look() {
  Room now = was_full_ ? Room::kNone : Room::kEnough;
  std::string left = "enough";
  if (options_.free_bytes) {
    const std::int64_t free_bytes = options_.free_bytes();
    left = megabytes(free_bytes);
    now = free_bytes < options_.free_floor_bytes ? Room::kLow : Room::kEnough;
    if (full_until_us_ != 0 || free_bytes < options_.full_floor_bytes) now = Room::kNone;
  }
  if (now == room_) return;
  room_ = now;
  std::optional<Error> lacks;
  if (now == Room::kEnough) {
    telemetry::log(telemetry::Level::kInfo, "disk_has_room", {{"free", left}});
  } else {
    lacks = error();
    const bool is_full = now == Room::kNone;
    telemetry::log(is_full ? telemetry::Level::kError : telemetry::Level::kWarning,
                   is_full ? "disk_full" : "disk_low",
                   {{"why", options_.free_bytes ? lacks->message : said_}});
  }
  const std::lock_guard lock(mutex_);
  shortage_ = std::move(lacks);
}

bool DiskWatch::is_full() {
  const bool has_room = !options_.free_bytes || options_.free_bytes() >= options_.full_floor_bytes;
  if (full_until_us_ == 0 && has_room) return false;
  if (full_until_us_ == 0 || monotonic_us() >= full_until_us_) {
    full_until_us_ = has_room ? 0 : monotonic_us() + options_.full_retry_us;
  }
  was_full_ = true;
  return full_until_us_ != 0;
}

void DiskWatch::appended() {
  failures_ = 0;
  if (!was_full_) return;
  was_full_ = false;
  look();
}

void DiskWatch::append_failed(const Error& error) {
  const int doublings = options_.free_bytes ? 0 : std::min(failures_++, kDoublings_max);
  full_until_us_ = monotonic_us() + (options_.full_retry_us << doublings);
  was_full_ = true;
  said_ = error.message;
  look();
}

std::optional<Error> DiskWatch::shortage() const {
  const std::lock_guard lock(mutex_);
  return shortage_;
}

}  // namespace dove::controller
