// --sign-in, --pam, --sign-in-hook and --local-passwords of `dove server` and `dove up`: the
// services that people sign in at, their Linux accounts, what the site itself has for checking
// passwords, and passwords that only the server knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "hook/hook.h"
#include "openid/provider.h"
#include "pam/check.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> sign_in_specs();

struct SignInSettings {
  std::vector<openid::Provider> providers;
  std::optional<pam::Service> pam;
  std::optional<hook::Hook> hook;  // where there is no pam
  bool local_passwords = false;
  std::string public_url;  // by which browsers and others know this server; "": as they name it
};
// Errors: those of read_providers; kInvalid no_pam_service, bad_hook, bad_public_url,
// bad_setting.
Result<SignInSettings> sign_in_settings(const Settings& given);

}  // namespace dove::programs
