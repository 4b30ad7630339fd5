// For tests: a new key, and what an authority certifies of it.
#pragma once

#include <ctime>

#include "wire/tls/authority.h"

namespace dove::wire {

// From now, for a day, where the grant does not say.
inline Credentials granted(const Authority& by, Grant grant) {
  Credentials own;
  own.key_pem = make_private_key();
  if (grant.now_s == 0) grant.now_s = std::time(nullptr);
  if (grant.valid_s == 0) grant.valid_s = 24 * 3600;
  own.chain_pem = by.issue(certificate_request(own.key_pem).value(), grant).value();
  return own;
}

}  // namespace dove::wire
