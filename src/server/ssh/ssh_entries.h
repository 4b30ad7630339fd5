// SshEntries: the address of the SSH gateway, the keys of `dove ssh`, and the tokens of
// connections.
//
// In memory only: the gateway reports its address again within a minute of a restart, `dove ssh`
// makes another key, and connections end with the server anyway. Loop thread only. Include only
// from .cc files of this part.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/time.h"

namespace dove::server {

class SshEntries {
 public:
  struct Gateway {
    std::string address;
    std::int64_t port = 0;
    std::vector<std::string> host_keys;  // "ssh-ed25519 AAAA..."
  };
  void announce(Gateway gateway, std::int64_t now_us);
  // nullopt: none has said for two minutes where it is.
  std::optional<Gateway> gateway(std::int64_t now_us) const;

  // A key that one `dove ssh` made for itself.
  struct Session {
    std::string user;
    JobId job;
    std::string by;  // as in ssh_token_prefix(): what registered it
    std::int64_t ends_us = 0;
  };
  static constexpr std::int64_t kSession_us = 300'000'000;
  // Errors: rate_limited: the user has too many; ssh_key_taken: the key is another user's.
  Result<void> open(const std::string& key_sha256, Session session, std::int64_t now_us);
  const Session* find(const std::string& key_sha256, std::int64_t now_us);
  // In `by`: the administrator's token.
  static constexpr char kRoots[] = "r";
  // Keys that something registered which lets nobody in any more.
  void drop(const std::string& by);

  // The token that was issued to the same recently, so that a hundred connections in a row are one
  // sign-in in the log; "": none.
  using Same = std::tuple<std::string, std::uint64_t, std::string, std::string>;
  struct Issued {
    std::string token;
    Instant expires_at;
    std::int64_t ends_us = 0;
  };
  static constexpr std::int64_t kSame_us = 3'600'000'000;
  const Issued* issued(const Same& same, std::int64_t now_us);
  void keep(const Same& same, Issued issued, std::int64_t now_us);

 private:
  static constexpr std::size_t kOfUserMax = 100;
  static constexpr std::size_t kMost = 10'000;

  std::optional<Gateway> gateway_;
  std::int64_t announced_us_ = 0;
  std::map<std::string, Session> sessions_;  // by the key's SHA-256
  std::map<Same, Issued> issued_;
};

}  // namespace dove::server
