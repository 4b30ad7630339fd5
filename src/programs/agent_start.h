// What an agent does before its loop runs. A former life's tasks end with the fence, which nobody
// renews before the first session: nothing here waits for long where there may be such tasks.
//
// Main thread only.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "containers/egress.h"

namespace dove::programs {

constexpr std::chrono::milliseconds kStartWait{500};

// Whether `work` has ended in time. What hangs, on a mount or a directory of names, is left to
// itself: `work` owns what it uses.
bool ends_in_time(std::chrono::milliseconds limit, std::function<void()> work);

// dove-shim, dove-contain and libdove-share.so stand beside dove, wherever that is.
std::string beside_us(const char* program);

// The commands that a job's script may call, and its Python package.
Result<void> make_tools(const agent::AgentOptions& options);

// Where users' own directories are made, in the directory that nodes share (a mount that hangs
// makes them later). What cannot be made is logged, and made or refused with a job.
void make_shared_places(const std::string& shared);

// Where containers find the controllers, in the order of --url. Where names are not looked up in
// time: as at the start before, which `DATA/controller-address` says.
std::vector<containers::ControllerPlace> controllers_of(const agent::AgentOptions& options);

}  // namespace dove::programs
