#include "wire/tls/psk.h"

#include <charconv>

#include "wire/secret.h"
#include "wire/tls/sealed_box.h"

namespace dove::wire {
namespace {

constexpr std::string_view kAbout = "psk";
constexpr std::size_t kIdentityBytesMax = 1024;

}  // namespace

PskIssuer::PskIssuer(const Authority& authority)
    : seal_key_(authority.derive("psk: identity")), mac_key_(authority.derive("psk: key")) {}

std::string PskIssuer::key_of(std::string_view identity) const {
  return hmac_sha256(mac_key_, identity);
}

// Sealed, so that nobody on the way reads which node it is. By the seal's nonce each is another.
Psk PskIssuer::issue(const std::string& uri, std::int64_t until_s) const {
  Psk psk;
  psk.identity = seal_box(seal_key_, std::to_string(until_s) + ' ' + uri, kAbout);
  psk.key = key_of(psk.identity);
  psk.until_s = until_s;
  return psk;
}

std::optional<PskIssuer::Found> PskIssuer::find(std::string_view identity,
                                                std::int64_t now_s) const {
  if (identity.size() > kIdentityBytesMax) return std::nullopt;
  const Result<std::string> said = open_box(seal_key_, identity, kAbout);
  if (!said.ok()) return std::nullopt;
  std::int64_t until_s = 0;
  const auto number = std::from_chars(said->data(), said->data() + said->size(), until_s);
  if (number.ec != std::errc() || until_s <= now_s) return std::nullopt;
  const auto length = static_cast<std::size_t>(number.ptr - said->data());
  return Found{said->substr(length + 1), key_of(identity)};
}

}  // namespace dove::wire
