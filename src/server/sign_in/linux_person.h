// Maps a Linux account whose password was right to a person here.
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

// Names that messages and records have for others than users.
bool is_reserved(const std::string& name);
// kUnauthenticated bad_account: such a name, however its password was checked.
Error bad_account(const std::string& name);

// The user whose tasks run as that account. An account that no user has makes one, of its name.
// Errors: kUnauthenticated user_disabled, bad_account (root, or no name for a user); kDenied
// name_taken, user_ambiguous.
Result<LinuxPerson> linux_person(const core::State& state, const pam::Account& account);

}  // namespace dove::server
