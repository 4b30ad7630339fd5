// Whoever takes too much of the server is told when to come again; nobody else notices.
#include <gtest/gtest.h>

#include "server/api_fixture.h"
#include "wire/test_peer.h"

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

TEST_F(ThrottleApiTest, WhoeverReadsNoAnswersGetsNoFurtherOnes) {
  LiveOptions options;
  options.throttle.unread_bytes_max = 100'000;
  store::MemoryStore store;
  LiveApi live(store, policies_, std::move(options));
  for (int i = 0; i < 300; ++i) live.submit(small_job_body());
  wire::RawPeer lazy(live.api->port());
  for (int i = 0; i < 400; ++i) {  // the system holds the first answers
    lazy.send("GET /v1/jobs?full=1&limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
              live.admin_token + "\r\n\r\n");
  }
  Answer answer;
  for (int i = 0; i < 1'000 && answer.status != 429; ++i) answer = live.call("GET", "/v1/jobs/1");
  ASSERT_EQ(answer.status, 429);
  EXPECT_EQ(answer.code(), "rate_limited");
  EXPECT_EQ(answer.response.header("Retry-After"), "1");
  EXPECT_EQ(live.call("GET", "/healthz").status, 200) << "nobody in particular asks";
  lazy.close_now();
  for (int i = 0; i < 1'000 && answer.status != 200; ++i) answer = live.call("GET", "/v1/jobs/1");
  EXPECT_EQ(answer.status, 200);
}

}  // namespace
}  // namespace dove::server
