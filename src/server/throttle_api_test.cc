// Whoever takes too much of the server is told when to come again; nobody else notices.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class ThrottleApiTest : public ::testing::Test {
 protected:
  store::MemoryStore store_;
  const core::Policies policies_ = policies::standard_policies();
  LiveApi api_{store_, policies_};
};

TEST_F(ThrottleApiTest, WrongTokensAreAnswered429OnceThereWereTooMany) {
  const std::string wrong(43, 'x');
  int refused = 0;
  Answer last;
  for (int i = 0; i < 3'000 && refused < 3; ++i) {
    last = api_.call("GET", "/v1/jobs", nullptr, {}, &wrong);
    ASSERT_TRUE(last.status == 401 || last.status == 429) << last.status;
    refused += last.status == 429 ? 1 : 0;
  }
  ASSERT_EQ(last.status, 429);
  EXPECT_EQ(last.code(), "rate_limited");
  EXPECT_EQ(last.response.header("Retry-After"), "1");
  // No part of a body is read either.
  EXPECT_EQ(api_.call("POST", "/v1/jobs", Json{{"command", {"true"}}}, {}, &wrong).status, 429);
  EXPECT_EQ(api_.call("GET", "/v1/jobs").status, 200) << "a good token from the same address";
}

}  // namespace
}  // namespace dove::server
