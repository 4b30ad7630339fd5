// Cores that Slurm's reservations keep from other jobs, now and later: for a reservation of some
// cores of a node, those that its own jobs do not have.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slurm/observed.h"

namespace dove::slurm {

struct KeptCores {
  std::string reservation;
  std::string node;
  std::vector<int> cores;     // no job has them; ascending, and not empty
  std::int64_t ends_s = 0;    // since 1970 UTC
  std::int64_t starts_s = 0;  // 0: it has begun
  bool operator==(const KeptCores&) const = default;
};

// Those of reservations that have begun, and then those of reservations that are to come, whoever
// has them now. Where Slurm does not say how many cores of which node are
// reserved, each gives as many as it may have to; where it does not say which, it is any that no
// job has: the ledger takes over those that Slurm gives to its work.
std::vector<KeptCores> kept_cores(const Observed& seen);

}  // namespace dove::slurm
