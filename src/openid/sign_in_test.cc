#include "openid/sign_in.h"

#include <gtest/gtest.h>

#include "openid/key_set.h"
#include "wire/http.h"

namespace dove::openid {
namespace {

constexpr std::int64_t kNow_us = 1'800'000'000'000'000;
constexpr char kKey[] = "a key of the server";

Provider corp() {
  Provider provider;
  provider.name = "corp";
  provider.client_id = "dove";
  return provider;
}

SignIn begun(const std::string& then = "/jobs/17?tab=logs") {
  const auto made = begin_sign_in(corp(), then, "https://gpu.example.org", kNow_us);
  CHECK(made.ok(), "it begins");
  return *made;
}

TEST(SignIn, ComesBackAsItWentAway) {
  const SignIn asked = begun();
  EXPECT_EQ(asked.redirect, "https://gpu.example.org/v1/sign-in/corp/callback");
  const auto back = unseal(seal(asked, kKey), kKey, "corp", asked.state, kNow_us + 1);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->then, "/jobs/17?tab=logs");
  EXPECT_EQ(back->verifier, asked.verifier);
  EXPECT_EQ(back->nonce, asked.nonce);
  EXPECT_NE(begun().state, asked.state);
}

TEST(SignIn, IsNobodyElses) {
  const SignIn asked = begun();
  const std::string cookie = seal(asked, kKey);
  const auto code = [&](const std::string& sealed, const std::string& key,
                        const std::string& provider, const std::string& state,
                        std::int64_t now_us) {
    return unseal(sealed, key, provider, state, now_us).error().code;
  };
  EXPECT_EQ(code("", kKey, "corp", asked.state, kNow_us), "sign_in_unknown");
  EXPECT_EQ(code("x" + cookie, kKey, "corp", asked.state, kNow_us), "sign_in_unknown");
  EXPECT_EQ(code(cookie + "0", kKey, "corp", asked.state, kNow_us), "sign_in_unknown");
  EXPECT_EQ(code(cookie, "another key", "corp", asked.state, kNow_us), "sign_in_unknown");
  EXPECT_EQ(code(cookie, kKey, "corp", begun().state, kNow_us), "sign_in_other");
  EXPECT_EQ(code(cookie, kKey, "lab", asked.state, kNow_us), "sign_in_other");
  EXPECT_EQ(code(cookie, kKey, "corp", asked.state, kNow_us + 600'000'000), "sign_in_over");
}

TEST(SignIn, GoesOnToOurOwnPagesAlone) {
  for (const char* then : {"https://evil.example.org", "//evil.example.org", "/\\evil.example.org",
                           "jobs", "", "/jobs\r\nX: y", "/a b", "javascript:alert(1)"}) {
    const auto made = begin_sign_in(corp(), then, "https://gpu.example.org", kNow_us);
    ASSERT_FALSE(made.ok()) << then;
    EXPECT_EQ(made.error().code, "open_redirect");
  }
}

TEST(SignIn, TellsTheIssuerNoSecret) {
  Provider provider = corp();
  provider.client_secret = "hidden";
  const SignIn asked = begun();
  const std::string url =
      authorization_url("https://id.example.org/auth?realm=hpc", provider, asked);
  wire::Request request;
  request.target = url;
  ASSERT_TRUE(wire::split_target(request).ok());
  const auto field = [&](const char* name) { return *request.find_query(name); };
  EXPECT_EQ(field("realm"), "hpc");
  EXPECT_EQ(field("response_type"), "code");
  EXPECT_EQ(field("scope"), "openid profile email");
  EXPECT_EQ(field("state"), asked.state);
  EXPECT_EQ(field("code_challenge_method"), "S256");
  EXPECT_EQ(field("code_challenge"), base64url_encode(sha256(asked.verifier)));
  EXPECT_EQ(url.find(asked.verifier), std::string::npos);
  EXPECT_EQ(url.find("hidden"), std::string::npos);
}

// RFC 7636, appendix B.
TEST(SignIn, ChallengesAsTheStandardDoes) {
  EXPECT_EQ(base64url_encode(sha256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

}  // namespace
}  // namespace dove::openid
