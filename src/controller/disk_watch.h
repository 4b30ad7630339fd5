// DiskWatch: whether the log's disk has room, and what is refused while it has not.
//
// A disk that cannot be looked at (that of a database elsewhere) is full from the append that
// failed to the next one that succeeds, which is tried more and more rarely.
//
// The controller's thread; shortage() may be called on any.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/options.h"

namespace dove::controller {

class DiskWatch {
 public:
  // `options` outlives it.
  explicit DiskWatch(const ControllerOptions& options) : options_(options) {}

  // Says once in the program's log when something changes.
  void look();
  // Whether nothing can be written now but, where it keeps_room(), relief.
  bool is_full();
  // That of a database keeps none: its every try is one that may fail.
  bool keeps_room() const { return options_.free_bytes != nullptr; }
  // Whether new work is refused, as last looked at.
  bool is_low() const { return room_ != Room::kEnough; }
  // Agents were refused since the last append.
  bool was_full() const { return was_full_; }
  // When writing is tried again, in microseconds; none: the disk is not full.
  std::optional<std::int64_t> full_for_us() const;
  // What those are told who are refused: kExhausted.
  Error error() const;

  // Only an append shows whether there is room again: one is to be made though nothing waits.
  bool wants_proof() const { return was_full_ && !options_.free_bytes && full_until_us_ == 0; }
  void appended();
  void append_failed(const Error& error);  // for want of room

  // What the disk lacks; none: nothing.
  std::optional<Error> shortage() const;

 private:
  // Enough for everything, not for new work, not for anything but relief.
  enum class Room { kEnough, kLow, kNone };

  std::int64_t monotonic_us() const;

  const ControllerOptions& options_;
  std::int64_t full_until_us_ = 0;
  int failures_ = 0;  // in a row
  std::string said_;  // by the last one; for the log, not for clients
  Room room_ = Room::kEnough;
  bool was_full_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> shortage_;  // guarded by mutex_
};

}  // namespace dove::controller
