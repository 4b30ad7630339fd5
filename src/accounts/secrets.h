// Which secret is whose, and which one a job means.
//
// Two people may each have a secret of the same name, so the state keeps a secret by the path of
// its owner and its name. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::accounts {

// "user/ada/hub", or "project/vision/hub" when `project` is not "". What the state keeps it by.
std::string secret_path(const std::string& user, const std::string& project,
                        const std::string& name);

// "hub" of "user/ada/hub".
std::string secret_name(const Secret& secret);

// The secret that a job means by `named`: "hub" is its user's, "vision/hub" is that of its project,
// which has to be vision. Errors: kInvalid secret_unknown, secret_elsewhere.
Result<const Secret*> secret_of(const core::State& state, const JobSpec& spec,
                                const std::string& named);

}  // namespace dove::accounts
