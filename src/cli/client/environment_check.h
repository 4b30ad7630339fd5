// Whether a tuxiv job's environment can be provided at all, asked before the job waits.
//
// That can be known only where every node is this machine (`dove up`): there the job's own shell
// text is run in its checking mode, which makes nothing. Include only from .cc files of this part.
#pragma once

#include "base/result.h"
#include "cli/client/api.h"
#include "jobfiles/jobfile.h"

namespace dove::cli {

// kInvalid "no_environment" says what is missing. Anything that cannot be found out is no error.
Result<void> check_environment(Api& api, const jobfiles::ParsedJob& job);

}  // namespace dove::cli
