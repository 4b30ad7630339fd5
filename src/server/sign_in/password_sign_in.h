// Signing in with a name and a password: one that only this server knows, or one that PAM or the
// site's hook verifies.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <string>

#include "server/context.h"

namespace dove::server {

struct ShownPassword {
  std::string user;
  std::string password;
  std::string wanted;  // the password from now on; "": the same
};

// Whoever has a password here is asked for that one; everybody else for the one that they have
// elsewhere.
void sign_in_with_password(Context& context, const CallPtr& call, ShownPassword shown);

}  // namespace dove::server
