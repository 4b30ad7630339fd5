// The home of a session that runs in an image: a directory on the storage that nodes share, common
// to all attempts of the job. Stopping and starting the session thus keeps its user's files, as a
// home of the node does without an image. Pure.
#pragma once

#include <string>

#include "agent/attempts/order.h"
#include "agent/tasks/environment.h"
#include "agent/tasks/task.h"

namespace dove::agent {

// Where it is on all nodes. "": the job is no session in an image, it sets HOME itself, or nothing
// is shared.
std::string session_home_of(const AgentFacts& facts, const LaunchOrder& order);

// Mounts it as HOME, where the task begins unless it names a directory. A volume of the job that
// has that path counts instead.
void give_session_home(const AgentFacts& facts, const LaunchOrder& order, TaskPlan& plan);

}  // namespace dove::agent
