// DeviceSignIns: programs that ask to be signed in, until somebody who is signed in accepts or
// refuses (after the device grant, RFC 8628; ours is for anybody who can sign in, by any means).
//
// In memory only: after a restart a program asks anew. Loop thread only. Include only from .cc
// files of this part.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "model/key.h"
#include "wire/loop.h"

namespace dove::server {

struct DeviceSignIn {
  std::string user_code;  // "BCDF-GHJK": what a person compares and types
  std::string name;       // of the program, in its own words
  std::string address;    // where it called from
  std::int64_t asked_us = 0;
  std::int64_t ends_us = 0;  // of the monotonic clock
};

// What the program is told in the end.
struct DeviceAnswer {
  bool approved = false;
  std::string secret;  // of the key, when approved
  Key key;
};

class DeviceSignIns {
 public:
  explicit DeviceSignIns(wire::Loop& loop) : loop_(loop) {}

  struct Begun {
    std::string device_code;  // the program's alone
    DeviceSignIn sign_in;
  };
  // Good for ten minutes. Error: rate_limited.
  Result<Begun> begin(const std::string& name, const std::string& address);

  // Somebody's who typed the code, in any case, with or without the dash; nullptr: nobody asks.
  const DeviceSignIn* find(const std::string& user_code);
  // False when nobody asks any more.
  bool answer(const std::string& user_code, DeviceAnswer answer);

  // Calls `told` with the answer, once; with nullptr when there is none within `wait`. A later call
  // for the same code takes this one's place, which is then told nullptr. Error: kNotFound
  // device_code_unknown.
  using Told = std::function<void(const DeviceAnswer* answer)>;
  Result<void> wait(const std::string& device_code, std::chrono::microseconds wait, Told told);
  // Whoever waits is told nullptr: the server stops.
  void close_all();

 private:
  struct Entry {
    DeviceSignIn sign_in;
    bool is_answered = false;
    DeviceAnswer answer;
    Told told;
    wire::Timer timer;
  };
  void forget_old();
  std::map<std::string, Entry>::iterator entry_of(const std::string& user_code);
  void tell(Entry& entry, const DeviceAnswer* answer);

  wire::Loop& loop_;
  std::map<std::string, Entry> entries_;  // by the digest of the device code
};

}  // namespace dove::server
