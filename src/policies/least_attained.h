// LeastAttained: the job that has had the least GPU-time so far is next, for jobs of which nobody
// knows how long they take; new jobs come before those that were stopped after a long slice.
//
// A job is passed by those that come after it for as long as it has had GPUs (a GPU-second counts a
// second of waiting, ten cores as much), and not longer: what has waited for all that time comes
// before whatever is submitted then, so nothing starves. With slice_min running jobs make room (see
// core/preempt/victims.h); without, this orders who is waiting.
//
// Source: Gu et al., Tiresias, NSDI 2019 (discretised two-dimensional attained service; here by a
// line instead of levels, and promoted by its own service instead of a factor of it).
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class LeastAttained final : public core::OrderPolicy {
 public:
  std::string_view name() const override { return "least_attained/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
};

}  // namespace dove::policies
