// The notices of a declared user, before they are accepted: URLs that come back in their shortened
// form are the declared ones, and targets are limited to those that this site allows.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <optional>

#include "base/result.h"
#include "model/declared.h"
#include "server/context.h"

namespace dove::server {

// Changes `after` so. Errors: those of notices::check_targets, unknown_target,
// not_an_administrator.
Result<void> take_targets(const Context& context, const std::optional<Declared>& before,
                          Declared& after);

}  // namespace dove::server
