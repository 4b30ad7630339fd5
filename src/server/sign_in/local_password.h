// Passwords that only this server knows: whether one is right, and what a change of one records.
//
// check_and_hash() is for side threads; the rest is pure. Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::server {

struct PasswordWork {
  std::string hash;      // that `former` is to be of; "": nobody asks
  std::string former;    // as it was given
  std::string wanted{};  // the new one; "": the former one stays
  bool renews = false;   // the former one stays, with a hash of today's cost
};

// The hash of `wanted`, or of `former` if it is renewed and memory allows, or "". Takes a tenth of
// a second for each that is there, and as long for a user who has no password. Errors:
// kUnauthenticated wrong_password; kUnavailable no_memory.
Result<std::string> check_and_hash(PasswordWork work);

// The user's password is now one that they chose: their sessions end, but for the key `but`.
std::vector<Event> own_password_set(const core::State& state, UserDeclaration user,
                                    const std::string& hash, const std::string& but);

// Service accounts, and names that the log keeps for the server's own, sign in with no password.
// Error: kConflict no_person.
Result<void> check_person(const UserDeclaration& user);

Error wrong_password();
// `kind`: kUnauthenticated at sign-in, else kDenied.
Error one_time_password_over(ErrorKind kind);
Error no_local_passwords();

}  // namespace dove::server
