// The replay of an OpenbTrace by a placement policy of the published experiments: tasks arrive one
// by one, stay if they fit, are dropped if not. Our own scheduler is replayed by
// sim/live/live_trace.h.
//
// Policies are told what to expect: the commonest tasks of the list. One thread; the same input
// gives the same output.
#pragma once

#include "core/place/score.h"
#include "sim/openb_figures.h"
#include "sim/traces/openb_trace.h"

namespace dove::sim {

struct OpenbOptions {
  // FGD's scores with the rounding errors of its published runs (openb_published_fgd.h).
  bool rounds_as_published = false;
};

OpenbResult replay_openb(const OpenbTrace& trace, const core::ScorePolicy& policy,
                         const OpenbOptions& options);

}  // namespace dove::sim
