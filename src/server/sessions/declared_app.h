// What a declared app may contain, and what its author should know.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/template.h"
#include "server/context.h"

namespace dove::server {

// The job as it is when nobody says anything else, as JSON: its name, its app's and its project are
// filled in. Error: app_without_port.
Result<nlohmann::json> job_of_app(const App& app);
// Errors: those of a submission, at job.FIELD; app_without_port; level_unknown.
Result<void> check_app(const core::State& state, const App& app);
// Why a job of it, submitted by that user, would be refused, wait for ever or fail now.
// REQUIRES: check_app() has passed.
std::vector<std::string> app_warnings(const Context& context, const std::string& user,
                                      const App& app);

}  // namespace dove::server
