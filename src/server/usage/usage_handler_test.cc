// GPU hours over a time, through the API.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class UsageTest : public WithApi {
 protected:
  UsageTest() { agent.connect(); }
  Json rows(const std::string& query, const std::string* token = nullptr) {
    return live.call("GET", "/v1/usage" + query, nullptr, {}, token).body.at("rows");
  }

  FakeAgent agent{live, "n1"};
};

TEST_F(UsageTest, IsWhatJobsHeldAndOnlyOfJobsThatOneMaySee) {
  EXPECT_TRUE(rows("").empty());
  const std::uint64_t job = live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return live.state(job) == "preparing"; }));
  agent.tell("started", job, 1);
  ASSERT_TRUE(live.until([&] { return rows("").at(0).at("core_hours").get<double>() > 0; }));
  EXPECT_EQ(rows("?by=queue&steps=3").at(0).at("name"), "default");
  EXPECT_EQ(rows("?by=queue&steps=3").at(0).at("steps").size(), 3u);
  EXPECT_EQ(rows("?by=project").at(0).at("name"), "");
  EXPECT_TRUE(rows("?to=1000000").empty()) << "before there were jobs";
  const Json shown = live.call("GET", "/v1/usage").body;
  EXPECT_EQ(shown.at("step_s"), 7.0 * 24 * 3600);
  EXPECT_LE(shown.at("complete_from_us"), shown.at("from_us"));
}

TEST_F(UsageTest, ATimeThatIsNoneIsRefused) {
  EXPECT_EQ(live.call("GET", "/v1/usage?by=node").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/usage?from=2000&to=1000").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/usage?steps=0").code(), "bad_parameter");
}

}  // namespace
}  // namespace dove::server
