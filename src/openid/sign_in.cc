#include "openid/sign_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "openid/json_text.h"
#include "openid/key_set.h"
#include "wire/http.h"
#include "wire/secret.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLasts_us = 600'000'000;
constexpr std::size_t kThenBytesMax = 1024;

// A path of this server: a browser takes "//host" and "/\host" for another one.
bool is_own_path(std::string_view then) {
  if (!then.starts_with('/') || then.size() > kThenBytesMax) return false;
  if (then.size() > 1 && (then[1] == '/' || then[1] == '\\')) return false;
  return std::ranges::all_of(then, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::string mac_of(std::string_view key, std::string_view text) {
  return wire::hmac_sha256_hex(key, fmt::format("openid-sign-in/{}", text));
}

Error refused(std::string code, std::string message) {
  return Error{ErrorKind::kUnauthenticated, std::move(code), std::move(message), "state"};
}

}  // namespace

std::string callback_path(const std::string& provider) {
  return fmt::format("/v1/sign-in/{}/callback", provider);
}

Result<SignIn> begin_sign_in(const Provider& provider, const std::string& then,
                             const std::string& origin, std::int64_t now_us) {
  if (!is_own_path(then)) {
    return Error{ErrorKind::kInvalid, "open_redirect",
                 "`then` is a path of this server, such as /jobs/17", "then"};
  }
  SignIn made;
  made.provider = provider.name;
  made.state = wire::random_token(24);
  made.nonce = wire::random_token(24);
  made.verifier = wire::random_token(48);
  made.then = then;
  made.redirect = (provider.url.empty() ? origin : provider.url) + callback_path(provider.name);
  made.ends_us = now_us + kLasts_us;
  return made;
}

std::string seal(const SignIn& sign_in, std::string_view key) {
  const Json json{sign_in.provider, sign_in.state,    sign_in.nonce,  sign_in.verifier,
                  sign_in.then,     sign_in.redirect, sign_in.ends_us};
  const std::string text =
      base64url_encode(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return text + "." + mac_of(key, text);
}

Result<SignIn> unseal(std::string_view cookie, std::string_view key, const std::string& provider,
                      std::string_view state, std::int64_t now_us) {
  const Error unknown = refused(
      "sign_in_unknown",
      "this browser did not begin this sign-in here; begin at the sign-in page, and allow cookies");
  const std::size_t dot = cookie.find('.');
  if (dot == cookie.npos) return unknown;
  const std::string_view text = cookie.substr(0, dot);
  if (!wire::equal_constant_time(cookie.substr(dot + 1), mac_of(key, text))) return unknown;
  const Result<std::string> inside = base64url_decode(text);
  if (!inside.ok()) return unknown;
  const Json json = read_json(*inside);
  if (!json.is_array() || json.size() != 7) return unknown;  // of a version before
  SignIn out{json[0], json[1], json[2], json[3], json[4], json[5], json[6]};
  if (out.ends_us <= now_us) {
    return refused("sign_in_over", "this sign-in took more than ten minutes; begin again");
  }
  if (out.provider != provider || !wire::equal_constant_time(out.state, state)) {
    return refused("sign_in_other",
                   "this is the answer to another sign-in of this browser; begin again");
  }
  return out;
}

std::string authorization_url(const std::string& endpoint, const Provider& provider,
                              const SignIn& sign_in) {
  std::string scope;
  for (const std::string& each : provider.scopes) scope += (scope.empty() ? "" : " ") + each;
  std::string url = endpoint;
  const auto add = [&](const char* name, const std::string& value) {
    url += fmt::format("{}{}={}", url.find('?') == std::string::npos ? '?' : '&', name,
                       wire::percent_encode(value));
  };
  add("response_type", "code");
  add("client_id", provider.client_id);
  add("redirect_uri", sign_in.redirect);
  add("scope", scope);
  add("state", sign_in.state);
  add("nonce", sign_in.nonce);
  add("code_challenge", base64url_encode(sha256(sign_in.verifier)));
  add("code_challenge_method", "S256");
  return url;
}

}  // namespace dove::openid
