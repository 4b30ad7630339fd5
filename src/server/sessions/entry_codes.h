// EntryCodes: codes that lead a browser from the console to a session's origin, once, within a
// minute.
//
// A code is bound to the job, to its origin, and to a nonce that only the browser which asked at
// that origin has. Anybody else who obtains the code, or is made to use it, gets nothing. In memory
// only. Loop thread only. Include only from .cc files of this part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "listener/entry_token.h"

namespace dove::server {

class EntryCodes {
 public:
  static constexpr std::int64_t kLasts_us = 60'000'000;
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::size_t kMostOfUser = 100;

  // `state`: SHA-256 of the browser's nonce, in hexadecimal digits. Error: rate_limited.
  Result<std::string> issue(listener::Entry entry, std::string origin, std::string state,
                            std::int64_t now_us);
  // None: the code is not known, is too old, or is not for that browser at that origin. It is used
  // up in any case.
  std::optional<listener::Entry> trade(const std::string& code, const std::string& origin,
                                       const std::string& nonce, std::int64_t now_us);

 private:
  struct Issued {
    listener::Entry entry;
    std::string origin;
    std::string state;
    std::int64_t ends_us = 0;
  };
  std::map<std::string, Issued> issued_;  // by the code's digest
};

}  // namespace dove::server
