// --follow of `dove server`: whose log is copied, and how the follower proves who it is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

struct FollowSettings {
  std::string urls;  // of controllers that share a log; "": it is a controller itself
  std::string token_file;
  std::string ca_file;                      // "": the system's authorities
  std::vector<std::string> without_effect;  // other settings that are given, of controllers alone
};

std::vector<cli::OptionSpec> follow_specs();
// Errors: kInvalid bad_setting; those of wire::parse_server_url.
Result<FollowSettings> follow_settings(const Settings& given);
// The token, from a file that its owner alone may read. Errors: kInvalid `token_file`.
Result<std::string> follow_token(const FollowSettings& settings);

}  // namespace dove::programs
