// Signing in with a password that the site's hook checks (src/hook).
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include "hook/answer.h"
#include "server/context.h"
#include "server/sign_in/session.h"

namespace dove::server {

// REQUIRES: there is a hook. `may`: what stands in the way of somebody whose password is
// right.
void sign_in_by_hook(Context& context, const CallPtr& call, hook::Question question,
                     PasswordTry tried, Result<void> may);

}  // namespace dove::server
