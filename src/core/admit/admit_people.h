// Whether a declaration about people, or a request in their name, may be recorded.
//
// Pure. Errors name the remedy.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::core {

// Errors: kDenied user_disabled.
Result<void> check_submitter(const State& state, const std::string& user);
// Errors: kDenied not_in_project, which names who may let them in.
Result<void> check_member(const State& state, const Project& project, const std::string& user);

// Errors: kNotFound no_such_user; kConflict too_many_keys.
Result<void> check_key(const State& state, const Key& key);

// Groups, bindings, users; other objects pass. Errors: kInvalid binding_nowhere, group_unknown,
// project_unknown; kConflict group_circle.
Result<void> check_people(const State& state, const Declared& object);

// What is allowed and may not be meant: a project without members, a user that nobody declared.
std::vector<std::string> people_warnings(const State& state, const Declared& object);

// Errors: kConflict domain_has_projects.
Result<void> domain_empty(const State& state, const std::string& name);
// A job outlives its user's declaration otherwise, and who its tasks run as with it. Errors:
// kConflict user_has_jobs.
Result<void> user_idle(const State& state, const std::string& name);

}  // namespace dove::core
