// Psk: lets a client that has been authenticated connect again without certificates and signatures,
// which are nearly all of the cost of a handshake: an external pre-shared key of TLS 1.3 (RFC 8446,
// 2.2; RFC 9257). Each connection still has keys of its own, by (EC)DHE.
//
// A key is issued over a connection that is already encrypted and authenticated. The authority's
// private key is enough to issue and accept keys, so all servers of a cluster accept each other's,
// also after a restart, and store nothing. OpenSSL's own session tickets hold the client's
// certificate, and reading that costs half of what is saved. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/tls/authority.h"

namespace dove::wire {

// As the client keeps it.
struct Psk {
  std::string identity;  // shown in the clear
  std::string key;       // 32 bytes, secret
  std::int64_t until_s = 0;
};

class PskIssuer {
 public:
  explicit PskIssuer(const Authority& authority);

  // For the client with that URI, until then.
  Psk issue(const std::string& uri, std::int64_t until_s) const;
  // Whose it is, and its key; none: it is not from here, was changed, or has ended.
  struct Found {
    std::string uri;
    std::string key;
  };
  std::optional<Found> find(std::string_view identity, std::int64_t now_s) const;

 private:
  std::string key_of(std::string_view identity) const;

  std::string seal_key_;
  std::string mac_key_;
};

}  // namespace dove::wire
