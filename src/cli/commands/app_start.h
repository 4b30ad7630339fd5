// Starting an app in a job and connecting to it: the common part of `dove notebook` and similar
// commands, `dove open` and `dove app start`.
//
// Include only from .cc files of this part.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands/app_job.h"

namespace dove::cli {

// How a session is reached from here: --local-port, --address, ...
std::vector<OptionSpec> way_in_options();
Result<void> read_way_in(const Invocation& invocation, SessionWanted& wanted);
// Whether they can be read: asked before the server is.
Result<void> check_way_in(const Invocation& invocation);

// These, --detach, --set, and what people say of a session's job.
std::vector<OptionSpec> start_options();

// Submits the job and leads to it.
Result<int> start_app(Api& api, const Invocation& invocation, const FoundApp& app,
                      const AppUse& use);

}  // namespace dove::cli
