// Signing in with a password that the site's hook checks (src/hook).
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <memory>

#include "hook/answer.h"
#include "server/context.h"

namespace dove::server {

// REQUIRES: there is a hook. `share` of what one address may try ends with the hook's answer.
void sign_in_by_hook(Context& context, const CallPtr& call, hook::Question question,
                     std::shared_ptr<void> share);

}  // namespace dove::server
