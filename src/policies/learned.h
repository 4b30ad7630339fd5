// Learned: users and queues by the smallest dominant share, as SmallestShare; among the jobs of
// one, the job that is likely to take the least further GPU time first. Nobody needs to say how
// long a job takes.
//
// What is likely is learned from the jobs that ended (core/state/learned/learned.h): how long those
// of the same user and width ran, or, of jobs that may be stopped, how much those that had as much
// service still took (the Gittins index by level of service). Waiting counts against it: a job is
// passed only by what is submitted up to so long after it. A higher priority goes before all that.
// A running job that may be stopped gives way to a waiting one of its queue and priority that
// stands clearly before it.
#pragma once

#include "policies/smallest_share.h"

namespace dove::policies {

class Learned final : public SmallestShare {
 public:
  std::string_view name() const override { return "learned/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
  core::Head head() const override { return core::Head::kTakesOver; }
};

}  // namespace dove::policies
