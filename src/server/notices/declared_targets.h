// What a declared user says of notices, before it is taken: URLs that come back as they were shown
// are the ones that are declared, and targets are those that this site allows.
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
