// The running task that a request refers to: its rank, its attempt, its node. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::backends {

struct RunningTask {
  AttemptNumber attempt = 0;
  Rank rank = 0;
  NodeId node;
};

// The task that `text` names: "": rank 0; "3": of that rank; "worker/1": of that group's tasks the
// second. Error kNotFound "no_such_task" names what there is.
Result<Rank> find_task(const JobSpec& spec, const std::string& text);

// The task that `task` names as above, or, with the name of a `node`, the first there. Error
// kConflict "not_running" too.
Result<RunningTask> find_running(const core::State& state, const core::Job& job,
                                 const std::string& task, const std::string& node);

}  // namespace dove::backends
