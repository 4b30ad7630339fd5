#include "openid/signer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/text_file.h"
#include "openid/id_token.h"
#include "openid/key_set.h"

namespace dove::openid {
namespace {

class OwnKey : public testing::Test {
 protected:
  OwnKey() : folder_(std::filesystem::temp_directory_path() / "dove-signer-XXXXXX") {
    CHECK(mkdtemp(folder_.data()) != nullptr, "a temporary directory can be made");
  }
  ~OwnKey() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/identity.pem"; }

 private:
  std::string folder_;
};

TEST_F(OwnKey, SignsWhatItsPublicKeyVerifies) {
  const auto signer = Signer::open(path());
  ASSERT_TRUE(signer.ok()) << signer.error().message;
  struct stat facts {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  const auto keys = KeySet::read(signer->public_keys().dump());
  for (int i = 0; i < 20; ++i) {  // numbers with leading zeros are as long as the others
    const std::string token = signer->sign({{"iss", "https://gpu"},
                                            {"aud", "store"},
                                            {"sub", "user:ada"},
                                            {"nonce", std::to_string(i)},
                                            {"exp", 100}});
    const auto claims =
        verified_claims(token, *keys, {"https://gpu", "store", std::to_string(i), 50});
    ASSERT_TRUE(claims.ok()) << claims.error().message;
    EXPECT_EQ(claims->at("sub"), "user:ada");
  }
}

TEST_F(OwnKey, SaysWhatATokenIsFor) {
  const auto signer = Signer::open(path());
  const auto type_of = [](const std::string& token) {
    const std::string head = base64url_decode(token.substr(0, token.find('.'))).value();
    return nlohmann::json::parse(head).at("typ").get<std::string>();
  };
  EXPECT_EQ(type_of(signer->sign({{"sub", "x"}})), "JWT");
  EXPECT_EQ(type_of(signer->sign({{"jti", "x"}}, "dove-notice+jwt")), "dove-notice+jwt");
}

TEST_F(OwnKey, IsTheSameAfterARestart) {
  const auto signer = Signer::open(path());
  const auto again = Signer::open(path());
  EXPECT_EQ(signer->public_keys(), again->public_keys());
  EXPECT_FALSE(signer->public_keys().dump().find("\"d\"") != std::string::npos);
}

TEST_F(OwnKey, WhatIsNoKeyIsNamed) {
  ASSERT_TRUE(files::write_atomically(path(), "not a key\n", 0600).ok());
  const auto signer = Signer::open(path());
  ASSERT_FALSE(signer.ok());
  EXPECT_EQ(signer.error().code, "bad_identity_key");
  EXPECT_EQ(signer.error().field, path());
}

}  // namespace
}  // namespace dove::openid
