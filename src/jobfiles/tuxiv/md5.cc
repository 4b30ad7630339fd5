#include "jobfiles/tuxiv/md5.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace dove::jobfiles {

std::string md5_hex(std::string_view text) {
  constexpr std::size_t kBytes = 16;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  // A host in FIPS mode has no MD5. The name only has to be the same each time there.
  const bool made =
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_md5(), nullptr) == 1 ||
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1;
  CHECK(made, "OpenSSL has MD5 or SHA-256");
  std::string hex;
  for (std::size_t i = 0; i < kBytes; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace dove::jobfiles
