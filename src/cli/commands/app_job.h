// AppJob: the job that runs an app: one that the site declares (kind App), else one that is built
// in (apps/app_programs.h).
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "apps/app_programs.h"
#include "base/result.h"
#include "cli/client/api.h"
#include "cli/client/session.h"
#include "jobfiles/jobfile.h"

namespace dove::cli {

// The variable and, of what is built in, the argument by which an app knows whose logs it shows.
inline constexpr char kLogDirectory[] = "DOVE_LOG_DIRECTORY";

struct FoundApp {
  std::string name;
  std::string job;                             // as declared: JSON, fields of a submission
  std::string project;                         // of whoever says no other; "": none
  const apps::AppProgram* built_in = nullptr;  // then there is nothing declared
};

// The declared one wins over what is built in. Error: kNotFound no_such_app.
Result<FoundApp> find_app(Api& api, const std::string& name);

struct AppUse {
  std::vector<std::string> arguments;  // further ones of its program
  std::string program;                 // in place of the built-in app's; "": that
  std::string log_directory;           // "": none is asked for
  std::vector<jobfiles::Option> options;
};

// The submission as JSON, before options: name, app, project and command filled in.
// Error: kInvalid, what the app lacks.
Result<std::string> app_body(const FoundApp& app, const AppUse& use);

// The whole job. Without an image it begins in the present directory, and a built-in app has the
// environment of the shell here.
Result<jobfiles::ParsedJob> app_job(const FoundApp& app, const AppUse& use);

// How the job that serves it is reached.
SessionWanted session_of(const FoundApp& app, const jobfiles::ParsedJob& job);

}  // namespace dove::cli
