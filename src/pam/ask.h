// ask(): the password of a Linux account, checked by a process of its own.
#pragma once

#include <string>

#include "base/result.h"
#include "pam/check.h"

namespace dove::pam {

// Blocks for at most ten seconds: never on a loop. `program`: dove itself. Any thread. Errors:
// those of check(); kUnavailable pam_failed, when the process could not be started, took longer, or
// died.
Result<Account> ask(const std::string& program, const Service& service, const std::string& user,
                    const std::string& password);

}  // namespace dove::pam
