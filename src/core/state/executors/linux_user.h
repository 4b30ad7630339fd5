// The Linux user that a submitter's tasks run as. Pure.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// Where no Linux user is set for them it is, with RunAs::kSubmitter, the one of the same name.
// Accounts that others than the cluster's administrators can make, of a project, of a domain, or of
// a sign-in service, have none by their name alone: it might be anybody's. "": none.
std::string linux_user_of(const State& state, const std::string& submitter, RunAs run_as);

}  // namespace dove::core
