// StartWait: waits until a job runs, and shows why it does not run yet: on a terminal in one line
// of stderr that is rewritten, elsewhere in a new line for each change.
//
// An interrupt cancels the job; a second one leaves. Include only from .cc files of this part.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client/api.h"

namespace dove::cli {

enum class Started {
  kRuns,
  kEnded,        // before anybody came
  kInterrupted,  // and cancelled
};

// REQUIRES: no other thread of the process has been started.
Result<Started> wait_for_start(Api& api, const std::string& job);

}  // namespace dove::cli
