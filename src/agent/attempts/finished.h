// FinishedAttempts: what remains of attempts that are over (order, exits, output), bounded by age
// and size.
//
// It scans its directory at the start, every few minutes, and when the disk is nearly full. It does
// a little in each turn of the loop, so that nothing waits for it, and removes the oldest first. It
// never follows a link. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "wire/loop.h"

namespace dove::agent {

struct FinishedLimits {
  std::int64_t age_max_s = 7 * 24 * 3600;
  std::int64_t bytes_max = std::int64_t{10} << 30;
  std::int64_t look_every_s = 300;
  // The oldest go early while the disk has less than this; looked at every five seconds; 0:
  // whatever it has.
  std::int64_t free_least = std::int64_t{512} << 20;
  std::function<std::int64_t(int directory)> free_bytes = {};  // empty: as the system says
};

class FinishedAttempts {
 public:
  // `directory` exists; each entry in it is an attempt's, as old as its last change.
  FinishedAttempts(wire::Loop& loop, std::string directory, FinishedLimits limits);
  ~FinishedAttempts();

  void start();
  // Whether a look is under way.
  bool looking() const { return directory_fd_ >= 0; }
  int removed() const { return removed_; }  // attempts, since the beginning

 private:
  class TreeWalk;
  struct Entry {
    std::string name;
    std::int64_t changed_at_s = 0;
  };
  void look();
  void step();
  void walked();
  void watch();
  std::int64_t missing_bytes() const;  // of free_least

  wire::Loop& loop_;
  const std::string directory_;
  const FinishedLimits limits_;
  int directory_fd_ = -1;      // while looking
  std::deque<Entry> entries_;  // still to be looked at, the youngest first
  std::unique_ptr<TreeWalk> walk_;
  std::int64_t oldest_kept_s_ = 0;
  std::int64_t kept_bytes_ = 0;
  bool no_room_ = false;            // for what is older than the last one looked at
  std::int64_t bytes_allowed_ = 0;  // bytes_max, or less for want of room
  int removed_ = 0;
  wire::Timer timer_;
  wire::Timer watch_timer_;
};

}  // namespace dove::agent
