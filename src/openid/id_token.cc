#include "openid/id_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "openid/json_text.h"
#include "openid/key_set.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kClocksDiffer_s = 60;
constexpr std::size_t kTokenBytesMax = 256 << 10;
constexpr std::size_t kSubjectBytesMax = 255;  // OpenID Connect Core, 2

Error refused(std::string code, std::string message) {
  return Error{ErrorKind::kUnauthenticated, std::move(code), std::move(message), "id_token"};
}

struct Parts {
  Json header;
  Json claims;
  std::string_view signed_text;
  std::string signature;
};

Result<Json> object_in(std::string_view encoded) {
  const Result<std::string> text = base64url_decode(encoded);
  Json json = text.ok() ? read_json(*text) : Json();
  if (json.is_object()) return json;
  return refused("token_malformed", "the issuer's answer holds no ID token that can be read");
}

Result<Parts> parts_of(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos ||
      token.size() > kTokenBytesMax) {
    return refused("token_malformed", "the issuer's answer holds no ID token that can be read");
  }
  Parts parts;
  TRY_ASSIGN(parts.header, object_in(token.substr(0, first)));
  TRY_ASSIGN(parts.claims, object_in(token.substr(first + 1, second - first - 1)));
  parts.signed_text = token.substr(0, second);
  const Result<std::string> signature = base64url_decode(token.substr(second + 1));
  if (!signature.ok())
    return refused("token_signature", "the ID token's signature is not its issuer's");
  parts.signature = *signature;
  return parts;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Seconds since 1970; `otherwise` when it is not there or no number.
std::int64_t seconds_of(const Json& object, const char* name, std::int64_t otherwise) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return otherwise;
  const double value = found->get<double>();
  return value > 0 && value < 1e12 ? static_cast<std::int64_t>(value) : otherwise;
}

bool is_for(const Json& claims, const std::string& client_id) {
  const auto audience = claims.find("aud");
  if (audience == claims.end()) return false;
  if (audience->is_string()) return *audience == Json(client_id);
  if (!audience->is_array() || std::ranges::find(*audience, Json(client_id)) == audience->end()) {
    return false;
  }
  // One of several audiences must be the one that it was made for.
  return audience->size() == 1 || text_of(claims, "azp") == client_id;
}

Result<void> check_times(const Json& claims, std::int64_t now_s) {
  const std::int64_t expires = seconds_of(claims, "exp", 0);
  if (expires + kClocksDiffer_s <= now_s) {
    return refused(
        "token_expired",
        fmt::format("the ID token ended {} s ago; sign in again, and compare the clocks of "
                    "this server and of the issuer if that goes on",
                    now_s - expires));
  }
  const std::int64_t begins = std::max(seconds_of(claims, "iat", 0), seconds_of(claims, "nbf", 0));
  if (begins > now_s + kClocksDiffer_s) {
    return refused("token_early",
                   fmt::format("the ID token begins in {} s: the clocks of this server and of the "
                               "issuer differ",
                               begins - now_s));
  }
  return {};
}

}  // namespace

Result<std::string> key_id_of(std::string_view token) {
  TRY_ASSIGN(const Parts parts, parts_of(token));
  return text_of(parts.header, "kid");
}

Result<Json> verified_claims(std::string_view token, const KeySet& keys, const Expected& expected) {
  TRY_ASSIGN(Parts parts, parts_of(token));
  // "Critical" extensions change what a token means, and none is known here (RFC 7515 4.1.11).
  if (parts.header.contains("crit")) {
    return refused("token_malformed", "the ID token has extensions that are not known here");
  }
  TRY(keys.verify(text_of(parts.header, "alg"), text_of(parts.header, "kid"), parts.signed_text,
                  parts.signature));
  if (const std::string issuer = text_of(parts.claims, "iss"); issuer != expected.issuer) {
    return refused("token_issuer", fmt::format("the ID token is of issuer '{}', not of {}",
                                               issuer.substr(0, 200), expected.issuer));
  }
  if (!is_for(parts.claims, expected.client_id)) {
    return refused("token_audience",
                   fmt::format("the ID token was not made for client {}", expected.client_id));
  }
  if (expected.nonce.empty() || text_of(parts.claims, "nonce") != expected.nonce) {
    return refused("token_nonce", "the ID token belongs to another sign-in; begin again");
  }
  TRY(check_times(parts.claims, expected.now_s));
  const std::string subject = text_of(parts.claims, "sub");
  const bool is_plain =
      std::ranges::all_of(subject, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (subject.empty() || subject.size() > kSubjectBytesMax || !is_plain) {
    return refused("token_subject", "the ID token does not say who has signed in (`sub`)");
  }
  return std::move(parts.claims);
}

}  // namespace dove::openid
