// PublicKey: a line of authorized_keys, "ssh-ed25519 AAAA... ada@laptop", taken apart and judged.
//
// Pure. What is taken is what OpenSSH makes today: Ed25519, ECDSA, the same two on a security key,
// and RSA of 2048 bits and more. Options before the key are refused: they would promise what the
// gateway does not do.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::ssh {

struct PublicKey {
  std::string kind;     // "ssh-ed25519"
  std::string body;     // base64
  std::string comment;  // "" : none
  int bits = 0;         // of RSA
  std::string warning;  // what is weak about it, and the remedy; "": nothing

  std::string line() const;  // as it is kept
};

// Errors, all kInvalid with field "key": bad_ssh_key, ssh_key_options, private_ssh_key,
// weak_ssh_key.
Result<PublicKey> read_public_key(std::string_view text);

// RFC 4648, 4, with padding. Error: bad_ssh_key.
Result<std::string> decode_base64(std::string_view text);

}  // namespace dove::ssh
