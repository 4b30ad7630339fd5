// `dove server --follow`, from its start to its end. See follower.h.
#pragma once

#include "programs/server/server_settings.h"

namespace dove::programs {

// The program's exit status.
int run_follower(const ServerSettings& settings);

}  // namespace dove::programs
