// dove check-password: PAM's question, in a process of its own, as the server asks it (pam/ask.h).
#include "pam/check.h"
#include "programs/commands.h"

namespace dove::programs {

cli::Command check_password_command() {
  cli::CommandSpec spec;
  spec.name = "check-password";
  spec.summary = "Check the password of a Linux account, for the server that starts this";
  spec.hidden = true;
  spec.description =
      "Reads PAM service, directory, name and password from its input, each with a NUL behind it.";
  return {spec, [](const cli::Invocation&) { return pam::answer_one(); }};
}

}  // namespace dove::programs
