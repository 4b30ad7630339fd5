// OwnKeys: the words in a controller's data directory that make its tokens good: `secret`, `token`
// (the administrator's) and `ssh_gateway_token`, each alone in a file of mode 0600.
//
// Blocks for as long as the disk does. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::listener {

struct OwnKeys {
  std::string secret;
  std::string token;  // "": it is missing, and none was to be made
  std::string ssh_gateway_token;
};

// Those that are missing are made; the administrator's token only if `makes_token`. Error kInvalid
// data_dir.
Result<OwnKeys> open_own_keys(const std::string& data_dir, bool makes_token);
// Another token of the administrator's. Error kInvalid data_dir: the former one is still there.
Result<void> keep_token(const std::string& data_dir, const std::string& token);

}  // namespace dove::listener
