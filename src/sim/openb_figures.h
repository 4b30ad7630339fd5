// OpenbFigures: what a replay of an OpenbTrace found.
//
// The figure is the part of all GPUs that is unallocated at a load: the mean over the arrivals at
// which what has arrived rounds to that percentage of the cluster's GPUs.
#pragma once

#include <cstdint>
#include <map>

namespace dove::sim {

constexpr int kFirstLoad_pct = 60;  // from here on loads are reported

struct OpenbResult {
  std::map<int, double> unallocated_pct;  // by load in per cent
  std::int64_t placed = 0;
  std::int64_t dropped = 0;
};

class OpenbTally {
 public:
  explicit OpenbTally(std::int64_t all_milli) : all_milli_(all_milli) {}

  // A task of `milli` thousandths of a GPU arrived, and was placed or not.
  void arrived(std::int64_t milli, bool placed);
  OpenbResult result() const;

 private:
  // What was in use at the arrivals of one load.
  struct Load {
    std::int64_t used_sum = 0;  // hundredths of a per cent
    std::int64_t arrivals = 0;
  };

  std::int64_t all_milli_;
  std::int64_t arrived_milli_ = 0;
  std::int64_t used_milli_ = 0;
  std::int64_t placed_ = 0;
  std::int64_t dropped_ = 0;
  std::map<std::int64_t, Load> loads_;
};

}  // namespace dove::sim
