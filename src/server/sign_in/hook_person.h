// Maps the answer of a site's hook to a person and groups here, as the claims of a sign-in service
// are mapped, under the names `hook` and `hook.GROUP`.
//
// Pure. Include only from .cc files of this part.
#pragma once

#include "hook/answer.h"
#include "server/sign_in/open_id_person.h"

namespace dove::server {

// The hook speaks of users here, so a declared user of that name is meant, unless another service
// has them. Errors: kUnavailable hook_failed, when no user can have such a name; kUnauthenticated
// bad_account; those of open_id_person().
Result<OpenIdPerson> hook_person(const core::State& state, const core::Policies& policies,
                                 const hook::Person& person);

// For whoever signs in. The log says more.
Error hook_failed();

}  // namespace dove::server
