// Input that is not echoed: passwords, secrets.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::cli {

// Asks on the terminal itself, whatever stdin is, and shows nothing of the answer. Errors: kInvalid
// no_terminal, input_ended, input_too_long.
Result<std::string> ask_hidden(const std::string& question);

}  // namespace dove::cli
