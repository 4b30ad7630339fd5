// Whom a Linux account, whose password was right, makes of somebody here.
//
// Pure. Include only from .cc files of this part.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "core/state/state.h"
#include "pam/check.h"

namespace dove::server {

struct LinuxPerson {
  std::string user;
  std::optional<UserDeclaration> made;  // at the first sign-in
};

// The user whose tasks run as that account. An account that no user has makes one, of its name.
// Errors: kUnauthenticated user_disabled, bad_account (root, or no name for a user); kDenied
// name_taken, user_ambiguous.
Result<LinuxPerson> linux_person(const core::State& state, const pam::Account& account);

}  // namespace dove::server
