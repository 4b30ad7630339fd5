// Holders of limits: whose limits apply to a job besides those of its queues and its project.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// The limits of the user's own entry, or of everybody's; null without.
const Limits* limits_of_user(const State& state, const std::string& user);

// The domain that a job counts towards: that of its project, else of its user; "": none.
std::string domain_of(const State& state, const std::string& user, const std::string& project);
std::string domain_of(const State& state, const JobSpec& spec);

}  // namespace dove::core
