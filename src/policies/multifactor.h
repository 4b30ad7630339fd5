// Multifactor: priority, waiting time, size and past use in one sum, as sites know it from Slurm.
//
// The unit is a minute of waiting: a job gains one for each minute, without end, so that nothing
// starves. A point of priority, of the job or its queue, is worth kPriority_minutes; each device
// that it asks for one, and each ten cores, so that big gangs are not passed for ever. A user that
// recently used one percent of the cluster, or a queue one percent for each of its weight, loses
// kPercent_minutes. All jobs of a user age at one pace: their order never changes while they wait.
//
// Source: Slurm's priority/multifactor, whose terms these are (age, job size, QOS, fair share).
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class Multifactor final : public core::OrderPolicy {
 public:
  static constexpr std::int64_t kPriority_minutes = 60;
  static constexpr std::int64_t kPercent_minutes = 60;
  std::string_view name() const override { return "multifactor/2"; }
  core::Basis basis() const override { return core::Basis::kRank; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
  // Microseconds of waiting.
  std::int64_t share(const core::ShareView& view) const override;
};

}  // namespace dove::policies
