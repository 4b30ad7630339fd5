// dove passwd: a password that only the server knows. One of login_commands().
#pragma once

#include "cli/command.h"

namespace dove::cli {

Command passwd_command();

}  // namespace dove::cli
