#include "openid/issuer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "openid/id_token.h"
#include "openid/json_text.h"
#include "telemetry/clock.h"
#include "wire/client.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kAll_us = 10'000'000;  // of all that one sign-in asks
constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr std::int64_t kKept_us = 3'600'000'000;
constexpr std::int64_t kAskedAgain_us = 60'000'000;

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Error unavailable(const Provider& provider, const std::string& why) {
  return Error{
      ErrorKind::kUnavailable, "issuer_unavailable",
      fmt::format("{} does not answer as it should: {}; try again, or sign in with a token",
                  provider.title, why),
      provider.name};
}

Error malformed(const Provider& provider, const std::string& what) {
  return Error{ErrorKind::kUnavailable, "issuer_malformed",
               fmt::format("{} {}; its administrator can mend it", provider.title, what),
               provider.name};
}

Result<wire::Response> ask(const Provider& provider, std::int64_t until_us,
                           const std::string& method, const std::string& url,
                           const std::string& body, const wire::Pairs& headers) {
  const std::int64_t left_ms = (until_us - telemetry::monotonic_us()) / 1000;
  if (left_ms <= 0) return unavailable(provider, "it takes too long");
  wire::ClientOptions options;
  options.timeout_ms = static_cast<int>(left_ms);
  options.connect_timeout_ms = std::min(5'000, options.timeout_ms);
  options.ca_file = provider.ca_file;
  options.response_bytes_max = kAnswerBytesMax;
  const auto [base, target] = split_url(url);
  wire::Client client(base, options);
  auto answer = client.call(method, target, body, headers);
  if (!answer.ok()) return unavailable(provider, answer.error().message);
  return answer;
}

Result<Json> read_object(const Provider& provider, std::int64_t until_us, const std::string& url,
                         const wire::Pairs& headers) {
  TRY_ASSIGN(const wire::Response answer, ask(provider, until_us, "GET", url, "", headers));
  if (answer.status != 200) {
    return unavailable(provider, fmt::format("{} answers {}", url, answer.status));
  }
  Json json = read_json(answer.body);
  if (!json.is_object()) return malformed(provider, url + " is no JSON object");
  return json;
}

std::string form(const wire::Pairs& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, wire::percent_encode(value));
  }
  return out;
}

// RFC 6749 2.3.1: each part is encoded before they are joined.
std::string basic(const Provider& provider) {
  const std::string plain =
      wire::percent_encode(provider.client_id) + ":" + wire::percent_encode(provider.client_secret);
  std::string text = base64url_encode(plain);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return "Basic " + text;
}

bool lists(const Json& document, const char* name, const char* word) {
  const auto found = document.find(name);
  return found != document.end() && found->is_array() &&
         std::ranges::find(*found, Json(word)) != found->end();
}

}  // namespace

Result<Issuer::Published> Issuer::published(std::int64_t until_us) {
  {
    const std::lock_guard lock(mutex_);
    if (published_.has_value() && telemetry::monotonic_us() < published_->until_us) {
      return *published_;
    }
  }
  std::string base = provider_.issuer;
  while (base.ends_with('/')) base.pop_back();
  TRY_ASSIGN(const Json document,
             read_object(provider_, until_us, base + "/.well-known/openid-configuration", {}));
  // Else one issuer could speak for another (OpenID Connect Discovery 4.3).
  if (text_of(document, "issuer") != provider_.issuer) {
    return malformed(provider_,
                     fmt::format("names itself '{}', and the settings say '{}'",
                                 text_of(document, "issuer").substr(0, 200), provider_.issuer));
  }
  Published found;
  found.authorization = text_of(document, "authorization_endpoint");
  found.token = text_of(document, "token_endpoint");
  found.userinfo = text_of(document, "userinfo_endpoint");
  found.keys = text_of(document, "jwks_uri");
  for (const std::string* url : {&found.authorization, &found.token, &found.keys}) {
    if (is_safe_url(*url)) continue;
    return malformed(
        provider_, fmt::format("says '{}' where an https:// address belongs", url->substr(0, 200)));
  }
  if (!is_safe_url(found.userinfo)) found.userinfo.clear();
  constexpr const char* kWays = "token_endpoint_auth_methods_supported";
  found.secret_in_body = document.contains(kWays) && !lists(document, kWays, "client_secret_basic");
  found.until_us = telemetry::monotonic_us() + kKept_us;
  const std::lock_guard lock(mutex_);
  published_ = found;
  return found;
}

Result<std::string> Issuer::authorization_endpoint() {
  TRY_ASSIGN(Published where, published(telemetry::monotonic_us() + kAll_us));
  return std::move(where.authorization);
}

Result<std::shared_ptr<const KeySet>> Issuer::keys_with(const Published& where,
                                                        const std::string& id,
                                                        std::int64_t until_us) {
  const std::int64_t now_us = telemetry::monotonic_us();
  {
    const std::lock_guard lock(mutex_);
    const bool is_fresh = keys_ != nullptr && now_us < keys_until_us_;
    // Tokens with invented ids must not make us ask the issuer for each of them.
    const bool asked_lately = keys_ != nullptr && now_us < keys_asked_us_ + kAskedAgain_us;
    if (is_fresh && (keys_->has(id) || asked_lately)) return keys_;
    if (keys_ != nullptr && keys_->has(id) && asked_lately) return keys_;
    keys_asked_us_ = now_us;
  }
  TRY_ASSIGN(const wire::Response answer, ask(provider_, until_us, "GET", where.keys, "", {}));
  if (answer.status != 200) {
    return unavailable(provider_, fmt::format("{} answers {}", where.keys, answer.status));
  }
  TRY_ASSIGN(KeySet keys, KeySet::read(answer.body));
  const std::lock_guard lock(mutex_);
  keys_ = std::make_shared<const KeySet>(std::move(keys));
  keys_until_us_ = now_us + kKept_us;
  return keys_;
}

Result<Json> Issuer::tokens_for(const Published& where, const std::string& code,
                                const SignIn& sign_in, std::int64_t until_us) const {
  wire::Pairs fields = {{"grant_type", "authorization_code"},
                        {"code", code},
                        {"redirect_uri", sign_in.redirect},
                        {"code_verifier", sign_in.verifier}};
  wire::Pairs headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                         {"Accept", "application/json"}};
  const bool is_public = provider_.client_secret.empty();
  if (is_public || where.secret_in_body) fields.emplace_back("client_id", provider_.client_id);
  if (!is_public && where.secret_in_body) {
    fields.emplace_back("client_secret", provider_.client_secret);
  } else if (!is_public) {
    headers.emplace_back("Authorization", basic(provider_));
  }
  TRY_ASSIGN(const wire::Response answer,
             ask(provider_, until_us, "POST", where.token, form(fields), headers));
  Json json = read_json(answer.body);
  if (answer.status >= 500) {
    return unavailable(provider_, fmt::format("{} answers {}", where.token, answer.status));
  }
  if (answer.status != 200 || !json.is_object()) {
    const std::string why = json.is_object() ? text_of(json, "error") : "";
    return Error{
        ErrorKind::kUnauthenticated, "code_refused",
        fmt::format("{} rejected the authorization code that it had issued ({}); begin again",
                    provider_.title, why.empty() ? "no reason" : why.substr(0, 100)),
        "code"};
  }
  return json;
}

Result<void> Issuer::add_userinfo(const Published& where, const Json& tokens, std::int64_t until_us,
                                  Json& claims) const {
  const auto lacks = [&](const std::string& name) {
    return !name.empty() && !claims.contains(name);
  };
  if (where.userinfo.empty() || (!lacks(provider_.user_claim) && !lacks(provider_.groups_claim) &&
                                 !lacks(provider_.linux_user_claim))) {
    return {};
  }
  const wire::Pairs headers = {{"Authorization", "Bearer " + text_of(tokens, "access_token")}};
  TRY_ASSIGN(const Json more, read_object(provider_, until_us, where.userinfo, headers));
  // Core 5.3.2: an access token of somebody else must not lend its claims.
  if (text_of(more, "sub") != text_of(claims, "sub")) {
    return malformed(provider_, "returned userinfo for a different subject");
  }
  for (const auto& [name, value] : more.items()) {
    if (!claims.contains(name)) claims[name] = value;
  }
  return {};
}

Result<Json> Issuer::redeem(const std::string& code, const SignIn& sign_in, std::int64_t now_s) {
  const std::int64_t until_us = telemetry::monotonic_us() + kAll_us;
  TRY_ASSIGN(const Published where, published(until_us));
  TRY_ASSIGN(const Json tokens, tokens_for(where, code, sign_in, until_us));
  const std::string token = text_of(tokens, "id_token");
  TRY_ASSIGN(const std::string key_id, key_id_of(token));
  TRY_ASSIGN(const auto keys, keys_with(where, key_id, until_us));
  const Expected expected{provider_.issuer, provider_.client_id, sign_in.nonce, now_s};
  TRY_ASSIGN(Json claims, verified_claims(token, *keys, expected));
  TRY(add_userinfo(where, tokens, until_us, claims));
  return claims;
}

}  // namespace dove::openid
