#include "passwords/hash.h"

#include <argon2.h>
#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "wire/tls/sealed_box.h"

namespace dove::passwords {
namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kTagBytes = 32;
constexpr std::size_t kTextBytesMax = 128;  // with its NUL

Error no_memory() {
  return {ErrorKind::kUnavailable, "no_memory",
          "the server has too little memory free to check a password; try again in a minute", ""};
}

// What is written behind `name`; 0: nothing that is a number.
std::uint32_t number_of(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + name.size());
  std::uint32_t number = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

}  // namespace

Result<std::string> hash(std::string_view password, const Cost& cost) {
  const std::string salt = wire::random_bytes(kSaltBytes);
  std::string text(kTextBytesMax, '\0');
  const int code =
      argon2id_hash_encoded(cost.passes, cost.memory_kib, 1, password.data(), password.size(),
                            salt.data(), salt.size(), kTagBytes, text.data(), text.size());
  if (code == ARGON2_MEMORY_ALLOCATION_ERROR) return no_memory();
  CHECK(code == ARGON2_OK, "argon2 takes these costs, and the text has room");
  text.resize(text.find('\0'));
  return text;
}

Result<bool> matches(const std::string& kept, std::string_view password) {
  const int code = argon2id_verify(kept.c_str(), password.data(), password.size());
  if (code == ARGON2_MEMORY_ALLOCATION_ERROR) return no_memory();
  return code == ARGON2_OK;
}

bool is_weaker(const std::string& kept, const Cost& cost) {
  if (!kept.starts_with("$argon2id$")) return false;
  return number_of(kept, "$v=") < ARGON2_VERSION_NUMBER ||
         number_of(kept, "$m=") < cost.memory_kib || number_of(kept, ",t=") < cost.passes;
}

std::string nobodys_hash() {
  const Cost cost;
  // A tag of zeros: no password has it, but for one chance in 2^256.
  return fmt::format("$argon2id$v=19$m={},t={},p=1$ZG92ZS1ub2JvZHktc2FsdA${}", cost.memory_kib,
                     cost.passes, std::string(43, 'A'));
}

}  // namespace dove::passwords
