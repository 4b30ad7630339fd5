// Admission of jobs that an executor is to run: whether an executor of that name exists and may run
// jobs, and what it cannot give.
//
// What the server knows beyond the ledger is checked in server/executors/executor_jobs.h.
#pragma once

#include <string>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::core {

// Success for a job that names none, and no reservation of one. REQUIRES: the spec has groups.
Result<void> admit_executor(const State& state, const JobSpec& spec);

// An executor that jobs name is declared so that it goes on running them.
Result<void> check_executor(const State& state, const Executor& executor);
// Succeeds unless an executor that is not silent owns the reservation of that name.
Result<void> check_keeper(const State& state, const std::string& reservation);
// No job that has not ended names it.
Result<void> executor_idle(const State& state, const std::string& name);
// Nothing runs there that only an executor can say the end of.
Result<void> check_removal(const State& state, const Node& node);

}  // namespace dove::core
