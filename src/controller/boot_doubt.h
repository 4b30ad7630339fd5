// BootDoubt: whether the clock of a machine that was started anew can be right about how long it
// was off.
//
// No task outlives the grace of an outage. So where the log has attempts that run, and the clock
// says that nobody led for longer than that, it is the clock that is wrong, or the attempts have
// ended and nobody could say so yet. Until that is known, time goes on from when the machine was
// last on: no job loses its limit to a clock that is a year ahead. A controller that is started
// again in the same boot goes on doubting. One thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/state/state.h"

namespace dove::controller {

class BootDoubt {
 public:
  BootDoubt() = default;
  // Microseconds UTC: when the machine was last on, 0: not known; and now, as its clock says.
  BootDoubt(const core::State& state, std::int64_t off_since_us, std::int64_t now_us);

  // The doubt of a former life: time went on at `goes_on_us`, and what ran then is not known to
  // have ended.
  static BootDoubt of_former_life(const core::State& state, std::int64_t goes_on_us);

  // Where time goes on; 0: nothing tells against the clock, or nothing any more.
  std::int64_t goes_on_us() const { return goes_on_us_; }
  // True once: what was taken to run has ended, so the clock may be right.
  bool settles(const core::State& state);

 private:
  std::int64_t goes_on_us_ = 0;
  std::vector<std::pair<JobId, AttemptNumber>> running_;
};

}  // namespace dove::controller
