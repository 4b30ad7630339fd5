// Passwords as this program keeps them: hashed with argon2id (RFC 9106), never as they are.
//
// A hash takes about a tenth of a second and 46 MiB, so that whoever has got one cannot try many:
// never on a loop. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::passwords {

// The memory of the strongest row of OWASP's Password Storage Cheat Sheet, with one pass more.
struct Cost {
  std::uint32_t memory_kib = 46 << 10;
  std::uint32_t passes = 2;
};

// "$argon2id$v=19$m=47104,t=2,p=1$SALT$TAG", with a new salt of 16 random bytes. Error:
// kUnavailable no_memory.
Result<std::string> hash(std::string_view password, const Cost& cost = {});

// Whether `kept` is of that password; a text that is no hash is of none. What it compares, it
// compares in the same time wherever they differ. Error: kUnavailable no_memory.
Result<bool> matches(const std::string& kept, std::string_view password);

// Whether `kept` is a hash that is quicker to make than one of `cost`, in memory or in passes. A
// text that is no hash is not.
bool is_weaker(const std::string& kept, const Cost& cost = {});

// A hash that is of no password, and takes as long to find that out.
std::string nobodys_hash();

}  // namespace dove::passwords
