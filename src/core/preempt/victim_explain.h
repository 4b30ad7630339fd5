// The effect that preemption could have for a waiting job, for explanations.
#pragma once

#include <optional>

#include "core/place/domain.h"
#include "core/preempt/running_jobs.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// Which running jobs could be stopped for the job and from when on, or that none can: a reason of
// kind kPreemption. None when no running job may be preempted at all. Needs no other indexes.
// `available`: the nodes of its pool that jobs can be started on.
std::optional<Reason> explain_victims(const State& state, const Policies& policies,
                                      const RunningJobs& running, const RankedNodes& available,
                                      const Job& job);

}  // namespace dove::core
