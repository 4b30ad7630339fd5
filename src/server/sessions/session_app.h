// The app that a job serves, and where browsers find it.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <string>

#include "model/exec.h"
#include "server/context.h"

namespace dove::server {

// Without a name: the job is no session.
AppSpec app_of(Context& context, const core::Job& job);
// The same. Error: kConflict no_app.
Result<AppSpec> required_app(Context& context, const core::Job& job);
// "https://j42.apps.example.org/lab"; "": there is no proxy.
std::string session_url(const Context& context, const core::Job& job, const AppSpec& app);

}  // namespace dove::server
