// Access: what a caller may see and do, beyond the access that a route asks for.
//
// Pure. A user may do what concerns their own jobs, and what their roles at a level let them do
// (model/people.h); administrators may do everything. The token of a running job does not speak for
// all of its user's work, but for the job's family: the job itself, the other elements of its
// array, and what it submitted, directly or through jobs that it submitted.
#pragma once

#include <string>

#include "accounts/caller.h"
#include "base/result.h"
#include "core/state/state.h"
#include "model/declared.h"
#include "model/event.h"

namespace dove::accounts {

// Whether the job belongs to the family of `own`.
bool is_family(const core::State& state, JobId own, const core::Job& job);
// Cancel, hold, signal, ... it, read its environment: its user, and managers of its project.
bool may_act(const core::State& state, const Caller& caller, const core::Job& job);
// Read its output: they, and viewers of its project.
bool may_read(const core::State& state, const Caller& caller, const core::Job& job);
// Use the app that it serves: its user, administrators, and whom it is shared with.
bool may_enter(const core::State& state, const Caller& caller, const core::Job& job);
// Whether they may only because it is shared with them.
bool is_guest(const core::State& state, const Caller& caller, const core::Job& job);
// The refusal that goes with these.
Error not_yours(const Caller& caller, const core::Job& job);
// That it exists, with what everybody may know of it: the family for a job; for users all jobs, or
// those that they may read, as the cluster's `job_visibility` has it.
bool may_see(const core::State& state, const Caller& caller, const core::Job& job);
// Pools that are open to them, projects that they are in, their own user, groups and limits,
// bindings that name them or are where they have a role.
bool may_see(const core::State& state, const Caller& caller, const Declared& object);
// A record of the log that is about that job, or about none; nullptr: a decision.
bool may_see_record(const core::State& state, const Caller& caller, JobId job,
                    const StampedEvent* event);
// Who did what, and what was refused to whom.
bool may_audit(const Caller& caller);
// Whether a role lets them change anything that is declared; whoever has none may label their own
// secrets. Error: kDenied role_needed.
Result<void> may_apply_anything(const Caller& caller);
// Whether they may make `after` of `before`; nullptr: there is none. Managers of a level say who is
// a member there, its administrators change what is declared of it. Error: kDenied role_needed.
Result<void> may_apply(const core::State& state, const Caller& caller, const Declared* before,
                       const Declared* after);
// Series of metrics about a user's or a project's work; "" is nobody's.
bool may_see_user(const Caller& caller, const std::string& user);
// What the user's jobs in the project held, once those jobs are forgotten.
bool may_see_use(const core::State& state, const Caller& caller, const std::string& user,
                 const std::string& project);
bool may_see_project(const core::State& state, const Caller& caller, const std::string& project);
// Make keys for that user, list and revoke them: the user, managers of the project of a service
// account, administrators.
bool may_keep_keys(const core::State& state, const Caller& caller, const std::string& user);
// The caller as of now: roles come and go while a stream is open. False: they are nobody any more,
// or may no longer enter the job that they were let in to.
bool refresh(const core::State& state, Caller& caller);

// What the key is, in base64, on a line as UserDeclaration::ssh_keys holds it.
std::string_view ssh_key_body(std::string_view line);

// The key of that id; nullptr: there is none, or no longer.
const Key* find_key(const core::State& state, const std::string& id);
// Whether it is a token of the administrator's that `dove token rotate` made or replaced, and not a
// program that its bearer let in (`dove login`): it alone has no user.
bool is_rotated_token(const Key& key);
// Whether it is the administrator's token of now, which is a key of the log once it was rotated.
bool is_administrators_token(const Key& key);
// Whether it was: the file `token` of a data directory says nothing by itself then.
bool has_administrators_token(const core::State& state);

}  // namespace dove::accounts
