// VictimLimits: whether a job would be within limits without some running jobs.
//
// A limit of a queue, user or project that a waiting job would exceed can be met by stopping jobs
// that count towards it and have a lower priority or a finished time slice (Kueue: preemption
// withinClusterQueue). For one beneficiary, one search and one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place/limits.h"
#include "core/preempt/victim_search.h"
#include "core/state/state.h"

namespace dove::core {

class VictimLimits {
 public:
  // `amount`: what the beneficiary will hold; `stopping`: jobs that are being stopped, gone
  // already.
  VictimLimits(const State& state, const Job& beneficiary, const Amount& amount,
               std::span<const JobId> stopping);

  // Whether it is limits alone that running jobs could make room in.
  bool could_hold() const { return could_hold_; }
  bool hold() const;
  // The job is gone. False: it does not count towards a limit that is still broken.
  bool lose(const Job& job);
  void regain(const Job& job);
  // Whether what it holds counts towards a limit that the beneficiary would break.
  bool counts(const Job& job) const;

 private:
  std::int64_t counted(const Reason& limit, const Job& job) const;

  const State& state_;
  struct Broken {
    Reason limit;
    std::int64_t over = 0;  // by how much; none at 0
  };
  std::vector<Broken> broken_;
  bool could_hold_ = true;
};

// Adds to what was found the cheapest of `victims` that have to go besides, so that the
// beneficiary is within its limits. False: no set of them does.
bool keep_limits(const State& state, const Job& beneficiary, std::span<const JobId> stopping,
                 const std::vector<Victim>& victims, Preemption& found);

}  // namespace dove::core
