// OwnKeys: the words in a controller's data directory that make its tokens good: `secret`, `token`
// (the administrator's) and `ssh_gateway_token`, each alone in a file of mode 0600.
//
// The file `keys.sha256` beside has their digests, as sha256sum writes them: a bit that flipped on
// a disk makes no other key. A directory without it is of a former version, and gets one.
//
// Blocks for as long as the disk does. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::listener {

struct OwnKeys {
  std::string secret;
  std::string token;  // "": it is missing, and the log has another one
  std::string ssh_gateway_token;
};

// Those that are missing are made, but for a secret that was there. A token that the log has is
// taken whatever the digest says: somebody put it there. Errors: kInvalid data_dir; kCorrupt
// key_damaged, which names the file and the remedy.
Result<OwnKeys> open_own_keys(const std::string& data_dir, const core::State& state);
// What is wrong with those that are there; nothing is written. kInvalid token_replaced: whether it
// is the token that somebody put there on purpose, the log alone says.
std::vector<Error> damages_of_own_keys(const std::string& data_dir);
// The same of `secret` alone.
Result<void> check_own_secret(const std::string& data_dir);
// Another token of the administrator's; "": none, and the file goes. Error kInvalid data_dir: what
// was there is there again, or the message says that it is not.
Result<void> keep_token(const std::string& data_dir, const std::string& token);

}  // namespace dove::listener
