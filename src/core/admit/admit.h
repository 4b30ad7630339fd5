// admit: whether a submission, or a change of a job or node, is allowed. It is asked before an
// event is written to the log. Errors name the field and the remedy. Pure; one thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// May this be submitted? Checks what the core knows: limits, queue and pool, dependencies' ids,
// amounts, whether any nodes could ever hold it (a warning, not an error). Errors name the field.
Result<std::vector<std::string>> admit(const State& state, const JobSpec& spec);

// May a job that has ended, one element if it is of an array, run again under its number? Its
// shape was admitted once; its queue, pool, user, project, limits, and the dependencies that it
// waited for are asked as they are now.
Result<void> admit_again(const State& state, const Job& job);

// What admit() warns of, also where it would refuse: for what was submitted before. None without
// the job's queue and pool.
std::vector<std::string> submission_warnings(const State& state, const JobSpec& spec);

// May this be done to the job or node? (cancel an ended job, requeue a waiting one, ...)
Result<void> admit(const State& state, const Policies& policies, const Event& event);

}  // namespace dove::core
