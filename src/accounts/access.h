// Access: what a caller may see and do, beyond the access that a route asks for.
//
// Pure. A user may do what concerns their own jobs; administrators may do everything. The token of
// a running job does not speak for all of its user's work, but for the job's family: the job
// itself, the other elements of its array, and what it submitted, directly or through jobs that it
// submitted.
#pragma once

#include <string>

#include "accounts/caller.h"
#include "base/result.h"
#include "core/state/state.h"
#include "model/declared.h"

namespace dove::accounts {

// Whether the job belongs to the family of `own`.
bool is_family(const core::State& state, JobId own, const core::Job& job);
// Cancel, hold, signal, ... it, read its output and its environment.
bool may_act(const core::State& state, const Caller& caller, const core::Job& job);
// The refusal that goes with may_act().
Error not_yours(const Caller& caller, const core::Job& job);
// That it exists, with what everybody may know of it: all jobs for users, the family for a job.
bool may_see(const core::State& state, const Caller& caller, const core::Job& job);
// Pools that are open to them, projects that they are in, their own user and limits.
bool may_see(const core::State& state, const Caller& caller, const Declared& object);
// Series of metrics about a user's or a project's work; "" is nobody's.
bool may_see_user(const Caller& caller, const std::string& user);
bool may_see_project(const core::State& state, const Caller& caller, const std::string& project);

// The key of that id; nullptr: there is none, or no longer.
const Key* find_key(const core::State& state, const std::string& id);

}  // namespace dove::accounts
