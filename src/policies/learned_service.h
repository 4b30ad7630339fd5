// LearnedService: the job likely to end after the least further GPU-time first, preempting; nobody
// needs to say how long a job takes.
//
// What is likely is learned from jobs of the same cluster: the service they had and ended at
// (core/state/service.h: the Gittins index, by level of service), or, where running jobs are not
// interrupted, how long those of the same account and width ran (core/state/run_history.h). Wide
// gangs count by the root of their width more, as they keep more others waiting; jobs of an account
// by what it uses already, double at 2 % of the cluster. What a job counts falls as it waits, by
// half after 64 times the mean run and towards nothing, so that each comes first in the end:
// nothing starves.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class LearnedService final : public core::JobOrder {
 public:
  std::string_view name() const override { return "learned_service/2"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView& view) const override;
  std::int32_t level(const core::JobView& job) const override;
  Span settled(const core::JobView& job) const override;
  bool preempts() const override { return true; }
};

}  // namespace dove::policies
