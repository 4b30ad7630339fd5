// Foreign jobs: jobs that an executor runs for its own users and may put back into its queue for
// jobs of ours.
//
// An administrator permits this for each partition (Executor::preempts). Such a job holds devices,
// can run again from its start, and counts in a declared queue of ours, by its account. Only that
// queue determines its level: the executor's priorities use another scale. Only jobs that our
// agents run preempt it, and only lower levels are preempted. Pure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

struct ForeignJob {
  std::string executor;
  std::string id;    // there
  std::string text;  // "slurm job 1234 of ada"
  // As if it were one of ours that runs. Its id is no other job's, and the ledger does not know it.
  Job job;
};
using ForeignJobPtr = std::shared_ptr<const ForeignJob>;

inline bool is_foreign(JobId id) { return id.value >> 63 != 0; }

// Whether an administrator lets any executor put jobs back.
bool any_preempts(const State& state);

// Whether jobs of an executor could make room for this one.
bool takes_from_foreign(const State& state, const Job& beneficiary);

// All that may be put back, in an order that is a function of the state. Those of several nodes are
// one. A walk over all nodes: do it once for many searches.
std::vector<ForeignJobPtr> foreign_jobs(const State& state);

// Whether the two name a device both.
bool shares_device(const Job& foreign, std::span<const Placement> placements);

// Those that hold a device of the placements and that the job may have put back, with what they
// hold on those nodes. Looks at no other node.
std::vector<ForeignJobPtr> yielding_to(const State& state, const Job& beneficiary,
                                       std::span<const Placement> placements);

// A promise for which others are stopped binds the executor's jobs, too: these are to be put back.
std::vector<ForeignJobPtr> put_back_for(const State& state, JobId beneficiary);

}  // namespace dove::core
