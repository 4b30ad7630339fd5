// The families of commands for sessions, beside those of cli/families.h. Called once at the start
// of the process.
#pragma once

#include <vector>

#include "cli/command.h"

namespace dove::cli {

std::vector<Command> declared_app_commands();    // app list, app start
std::vector<Command> session_action_commands();  // stop, start, restart
std::vector<Command> run_commands();             // run

}  // namespace dove::cli
