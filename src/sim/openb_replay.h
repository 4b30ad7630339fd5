// The replay of an OpenbTrace: tasks arrive one by one, stay if they fit, are dropped if not.
//
// The figure is the part of all GPUs that is unallocated at a load: the mean over the arrivals at
// which what has arrived rounds to so many per cent of the cluster's GPUs. One thread; the same
// input gives the same output.
#pragma once

#include <cstdint>
#include <map>

#include "core/score.h"
#include "sim/openb_trace.h"

namespace dove::sim {

constexpr int kFirstLoad_pct = 60;  // from here on loads are reported

struct OpenbResult {
  std::map<int, double> unallocated_pct;  // by load in per cent
  std::int64_t placed = 0;
  std::int64_t dropped = 0;
};

// What FGD's published runs did with rounding errors (openb_published_fgd.h), or nothing of it.
enum class Rounding { kExact, kAsPublished };

OpenbResult replay_openb(const OpenbTrace& trace, const core::ScorePolicy& policy,
                         Rounding rounding);

}  // namespace dove::sim
