// The replay of an OpenbTrace: tasks arrive one by one, stay if they fit, are dropped if not.
//
// The figure is the part of all GPUs that is unallocated at a load: the mean over the arrivals at
// which what has arrived rounds to so many per cent of the cluster's GPUs. One thread; the same
// input gives the same output.
#pragma once

#include <cstdint>
#include <map>

#include "core/place/score.h"
#include "sim/openb_trace.h"

namespace dove::sim {

constexpr int kFirstLoad_pct = 60;  // from here on loads are reported

struct OpenbResult {
  std::map<int, double> unallocated_pct;  // by load in per cent
  std::int64_t placed = 0;
  std::int64_t dropped = 0;
};

struct OpenbOptions {
  // What policies are told to expect: the commonest tasks of the list, as in the published
  // experiments, or only what has arrived so far (core/state/mix.h).
  bool learns_from_arrivals = false;
  // FGD's scores with the rounding errors of its published runs (openb_published_fgd.h).
  bool rounds_as_published = false;
};

OpenbResult replay_openb(const OpenbTrace& trace, const core::ScorePolicy& policy,
                         const OpenbOptions& options);

}  // namespace dove::sim
