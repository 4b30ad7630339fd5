#include "openid/id_token.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "openid/signed_tokens_for_test.h"

namespace dove::openid {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kNow_s = 1'800'000'000;

Json good_claims() {
  return {{"iss", "https://id.example.org"}, {"aud", "dove"},       {"sub", "248289761001"},
          {"nonce", "n-0S6_WzA2Mj"},         {"exp", kNow_s + 300}, {"iat", kNow_s},
          {"preferred_username", "ada"}};
}

Expected expected() { return {"https://id.example.org", "dove", "n-0S6_WzA2Mj", kNow_s}; }

KeySet keys_of(const std::vector<Json>& jwks) {
  const auto set = KeySet::read(Json{{"keys", jwks}}.dump());
  CHECK(set.ok(), "a key set");
  return *set;
}

std::string code_of(const std::string& token, const KeySet& keys) {
  const auto claims = verified_claims(token, keys, expected());
  return claims.ok() ? "" : claims.error().code;
}

class EachAlgorithm : public testing::TestWithParam<const char*> {};

TEST_P(EachAlgorithm, IsVerifiedAndAnotherKeyIsNot) {
  const TestKey key(GetParam());
  const TestKey other(GetParam());
  const std::string token = key.sign(good_claims());
  const auto claims = verified_claims(token, keys_of({key.jwk("k1")}), expected());
  ASSERT_TRUE(claims.ok()) << claims.error().message;
  EXPECT_EQ(claims->at("preferred_username"), "ada");
  EXPECT_EQ(code_of(token, keys_of({other.jwk("k1")})), "token_signature");
  EXPECT_EQ(code_of(token, keys_of({key.jwk("k2"), other.jwk("k3")})), "token_key");
  // One letter of the claims is another one.
  std::string changed = token;
  const std::size_t at = changed.find('.') + 10;
  changed[at] = changed[at] == 'A' ? 'B' : 'A';
  const std::string code = code_of(changed, keys_of({key.jwk("k1")}));
  EXPECT_TRUE(code == "token_signature" || code == "token_malformed") << code;
}

INSTANTIATE_TEST_SUITE_P(IdToken, EachAlgorithm,
                         testing::Values("RS256", "PS256", "ES256", "EdDSA"));

TEST(IdToken, NeitherNoneNorASharedSecretSigns) {
  const TestKey key("RS256");
  const KeySet keys = keys_of({key.jwk("k1")});
  for (const char* algorithm : {"none", "None", "HS256", "HS512", "RS1", ""}) {
    EXPECT_EQ(code_of(key.sign(good_claims(), {{"alg", algorithm}}), keys), "token_algorithm")
        << algorithm;
  }
  // Without a signature.
  const std::string token = key.sign(good_claims(), {{"alg", "none"}});
  EXPECT_EQ(code_of(token.substr(0, token.rfind('.') + 1), keys), "token_algorithm");
  // A key of another kind than the token says, and one that is for another algorithm.
  EXPECT_EQ(code_of(key.sign(good_claims(), {{"alg", "ES256"}}), keys), "token_key");
  Json jwk = key.jwk("k1");
  jwk["alg"] = "PS256";
  EXPECT_EQ(code_of(key.sign(good_claims()), keys_of({jwk})), "token_key");
}

TEST(IdToken, EachClaimIsAsExpected) {
  const TestKey key("ES256");
  const KeySet keys = keys_of({key.jwk("k1")});
  const auto with = [&](const Json& changes) {
    Json claims = good_claims();
    claims.update(changes);
    return code_of(key.sign(claims), keys);
  };
  EXPECT_EQ(with(Json::object()), "");
  EXPECT_EQ(with({{"iss", "https://id.example.org/"}}), "token_issuer");
  EXPECT_EQ(with({{"iss", nullptr}}), "token_issuer");
  EXPECT_EQ(with({{"aud", "other"}}), "token_audience");
  EXPECT_EQ(with({{"aud", {"dove", "other"}}}), "token_audience");
  EXPECT_EQ(with({{"aud", {"dove", "other"}}, {"azp", "dove"}}), "");
  EXPECT_EQ(with({{"aud", {"dove"}}}), "");
  EXPECT_EQ(with({{"aud", 7}}), "token_audience");
  EXPECT_EQ(with({{"nonce", "another"}}), "token_nonce");
  EXPECT_EQ(with({{"nonce", nullptr}}), "token_nonce");
  EXPECT_EQ(with({{"exp", kNow_s - 61}}), "token_expired");
  EXPECT_EQ(with({{"exp", kNow_s - 59}}), "");
  EXPECT_EQ(with({{"exp", "soon"}}), "token_expired");
  EXPECT_EQ(with({{"iat", kNow_s + 61}}), "token_early");
  EXPECT_EQ(with({{"nbf", kNow_s + 3600}}), "token_early");
  EXPECT_EQ(with({{"sub", ""}}), "token_subject");
  EXPECT_EQ(with({{"sub", "a\nb"}}), "token_subject");
  EXPECT_EQ(with({{"sub", std::string(256, 'x')}}), "token_subject");
}

TEST(IdToken, WhatIsNoTokenIsRefused) {
  const TestKey key("ES256");
  const KeySet keys = keys_of({key.jwk("k1")});
  const std::string token = key.sign(good_claims());
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), token + ".x",
        "!" + token, token.substr(0, token.find('.')), std::string(300'000, 'a')}) {
    EXPECT_EQ(code_of(bad, keys), "token_malformed") << bad.substr(0, 40);
  }
  EXPECT_EQ(code_of(key.sign(good_claims(), {{"crit", {"exp"}}}), keys), "token_malformed");
  EXPECT_EQ(code_of(token + "x", keys), "token_signature");
}

TEST(KeySet, PassesOverWhatItDoesNotKnow) {
  const TestKey key("RS256");
  Json encryption = key.jwk("k2");
  encryption["use"] = "enc";
  const KeySet keys = keys_of({{{"kty", "oct"}, {"k", "c2VjcmV0"}, {"kid", "k0"}},
                               7,
                               {{"kty", "RSA"}, {"n", "AQAB"}, {"e", "AQAB"}, {"kid", "weak"}},
                               encryption,
                               key.jwk("k1")});
  EXPECT_TRUE(keys.has("k1"));
  EXPECT_TRUE(keys.has(""));  // there is one only
  for (const char* id : {"k0", "k2", "weak"}) EXPECT_FALSE(keys.has(id)) << id;
  EXPECT_EQ(code_of(key.sign(good_claims(), {{"kid", ""}}), keys), "");
  EXPECT_EQ(KeySet::read("[]").error().code, "bad_key_set");
  EXPECT_EQ(KeySet::read("{\"keys\": 7}").error().code, "bad_key_set");
}

TEST(Base64url, IsExact) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"),
                                   std::string("foo"), std::string("\xff\xfe\x00", 3)}) {
    EXPECT_EQ(*base64url_decode(base64url_encode(bytes)), bytes);
  }
  EXPECT_EQ(base64url_encode("foob"), "Zm9vYg");
  for (const char* bad : {"Zg==", "Z", "Zh", "Zm9+", "Zm 9"}) {
    EXPECT_FALSE(base64url_decode(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dove::openid
