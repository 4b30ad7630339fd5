// ClockWatch: the instants of a controller (instants.h), and what is to be said of its machine's
// clock: once when it leaps, and once when it is back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "controller/instants.h"
#include "model/event.h"
#include "store/log_store.h"

namespace dove::controller {

class ClockWatch {
 public:
  using Keep = std::function<void(std::int64_t, std::int64_t, bool)>;
  // ControllerOptions::begin_us, clock_accepted and keep_time. `note` gets what belongs into the
  // log.
  ClockWatch(std::int64_t begin_us, bool accepted, Keep keep, std::function<void(ClockLeapt)> note);

  // Controller's thread, as all but leap() and even_us().
  std::int64_t now_us();
  // Where another controller leads: even_us() goes on from here by its time.
  void heard(std::int64_t at_us, std::int64_t late_us);
  void begin(std::int64_t stamped_us);
  void go_on_from(std::int64_t at_us);
  void look();
  void keep();  // at the end
  // Somebody may have said in it that the clock is right.
  void appended(const store::Batch& batch);
  // The instants go on evenly from where they were looked at last, which is at most a minute ago:
  // whoever asks often makes no difference to how they run. Any thread.
  std::int64_t even_us() const;
  // Any thread. Nothing: the machine's clock is followed.
  std::optional<Error> leap() const;

 private:
  enum class Course { kFollowed, kSlewed, kNotTakenOver };

  Instants instants_;
  std::atomic<std::int64_t> over_steady_us_;  // of the instants, when they were looked at last
  Keep keep_;
  std::function<void(ClockLeapt)> note_;
  std::int64_t kept_us_ = 0;
  Course course_ = Course::kFollowed;  // as last said
  mutable std::mutex mutex_;
  std::optional<Error> leap_;  // guarded by mutex_
};

}  // namespace dove::controller
