#include "listener/node_authority.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::listener {
namespace {

constexpr std::int64_t kNow_s = 1'800'000'000;

class NodeAuthorityTest : public testing::Test {
 protected:
  Result<nlohmann::json> certify(const std::string& key_pem, const std::string& key_digest) {
    return authority.certify(*wire::certificate_request(key_pem), "n1", key_digest, kNow_s);
  }

  NodeAuthority authority{wire::Authority::make("dove", kNow_s), "cluster", 3600, true};
  const std::string own = wire::make_private_key();
};

TEST_F(NodeAuthorityTest, ACertificateIsForTheKeyThatTheTokenNames) {
  const auto answer = certify(own, *wire::key_digest(own));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const auto facts = wire::read_certificate(answer->at("certificate").get<std::string>());
  EXPECT_EQ(facts->uri, "dove://cluster/node/n1");
  EXPECT_EQ(facts->key_digest, *wire::key_digest(own));
}

TEST_F(NodeAuthorityTest, AnotherKeyIsRefusedWithTheRemedy) {
  const auto answer = certify(wire::make_private_key(), *wire::key_digest(own));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(answer.error().code, "another_key");
  EXPECT_NE(answer.error().message.find("dove join-token create n1"), std::string::npos);
}

TEST_F(NodeAuthorityTest, ATokenThatNamesNoKeyIsGoodWithAny) {
  EXPECT_TRUE(certify(own, "").ok());
  EXPECT_FALSE(wire::key_digest("no key").ok());
}

TEST_F(NodeAuthorityTest, KnowsItsNodesByTheirUris) {
  EXPECT_EQ(authority.node_of(authority.uri_of("n1")), "n1");
  EXPECT_EQ(authority.node_of("dove://another/node/n1"), std::nullopt);
  EXPECT_EQ(authority.node_of(""), std::nullopt);
}

}  // namespace
}  // namespace dove::listener
