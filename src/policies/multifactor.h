// Multifactor: priority, waiting time, size and past use in one sum, as sites know it from Slurm.
//
// The unit is a point. The weights are the cluster's (MultifactorWeights): a job gains points by
// waiting, for each point of priority, its own and its queue's, and for each device that it asks
// for, or ten cores. A user that recently used the whole cluster, or a queue the whole cluster for
// each of its weight, loses some. By the weights of a new cluster, a minute of waiting
// and a device are worth one each, so that big gangs are not passed for ever, a point of priority
// and one percent of the cluster 60.
//
// Age has no maximum, so that nothing starves: all jobs of a user age at one pace, and their order
// never changes while they wait.
//
// Source: Slurm's priority/multifactor, whose terms these are (age, job size, QOS, fair share).
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class Multifactor final : public core::OrderPolicy {
 public:
  std::string_view name() const override { return "multifactor/2"; }
  core::Basis basis() const override { return core::Basis::kRank; }
  // In parts of a point (core/queue/points.h), from the epoch on.
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
  std::int64_t share(const core::ShareView& view) const override;  // parts of a point
};

}  // namespace dove::policies
