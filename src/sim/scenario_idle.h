// The words of scenarios about idle sessions.
//
//   idle JOB [check=input|use|lifetime] warning=600s    it is idle, and was warned
//   used JOB                                            it is used again
//   keep JOB for=3600s                                  a person keeps it
#pragma once

#include <optional>
#include <string>

#include "core/state/state.h"
#include "model/event.h"
#include "sim/scenario_words.h"

namespace dove::sim {

// Nothing: it is no such word, or there is no attempt of the job.
std::optional<Event> idle_events(const core::State& state, const std::string& verb, JobId id,
                                 Options& options);

}  // namespace dove::sim
