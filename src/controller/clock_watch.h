// ClockWatch: the instants of a controller (instants.h), and what is to be said of its machine's
// clock: once when it leaps, and once when it is back.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "controller/instants.h"

namespace dove::controller {

class ClockWatch {
 public:
  // ControllerOptions::begin_us and keep_time.
  ClockWatch(std::int64_t begin_us, std::function<void(std::int64_t, std::int64_t)> keep);

  // Controller's thread, as all but leap().
  std::int64_t now_us() { return instants_.now_us(); }
  void not_before(std::int64_t at_us) { instants_.not_before(at_us); }
  void look();
  void keep();  // at the end
  // Any thread. Nothing: the machine's clock is followed.
  std::optional<Error> leap() const;

 private:
  Instants instants_;
  std::function<void(std::int64_t, std::int64_t)> keep_;
  std::int64_t kept_us_ = 0;
  mutable std::mutex mutex_;
  std::optional<Error> leap_;  // guarded by mutex_
};

}  // namespace dove::controller
