// An adapter's report about times in which nobody observed what its executor ran
// (core/state/executors/unwatched.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "core/executors/observation.h"

namespace dove::core {

// That such a time is over, where the report is the first after one.
void add_watch(const State& state, const std::string& executor, const Observation& said,
               std::vector<Event>& events);

// What had ended in a part of one. What still runs is left out, unless it had ended in between, and
// so are jobs that the ledger placed and accounts that stand for no queue.
void add_past(const State& state, const std::string& executor, const Observation& said,
              std::vector<Event>& events);

// The first such time that is to be settled; null: none. Its accounting is to be asked what ended
// from `counted` on.
const Unwatched* first_unwatched(const State& state, const std::string& executor);

}  // namespace dove::core
