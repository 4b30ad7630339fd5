// GPU hours over a time, through the API.
#include <fmt/format.h>
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

TEST_F(UsageTest, OutlivesTheJobs) {
  const std::uint64_t job = live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return live.state(job) == "preparing"; }));
  agent.tell("started", job, 1);
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  const Json before = rows("?by=queue").at(0);
  const Json cluster{{"kind", "Cluster"}, {"ended_jobs_max", 0}};
  const Answer applied =
      live.call("POST", "/v1/objects", Json{{"objects", Json::array({cluster})}});
  ASSERT_EQ(applied.status, 200) << applied.body;
  ASSERT_TRUE(
      live.until([&] { return live.call("GET", fmt::format("/v1/jobs/{}", job)).status == 404; }));
  const Json after = rows("?by=queue").at(0);
  EXPECT_EQ(after.at("jobs"), 1);
  EXPECT_NEAR(after.at("core_hours").get<double>(), before.at("core_hours").get<double>(), 1e-6);
  EXPECT_EQ(rows("?by=domain").at(0).at("name"), "");
  const Json shown = live.call("GET", "/v1/usage").body;
  EXPECT_LE(shown.at("complete_from_us"), shown.at("from_us")) << "nothing is missing";
}

TEST_F(UsageTest, ATimeThatIsNoneIsRefused) {
  EXPECT_EQ(live.call("GET", "/v1/usage?by=node").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/usage?from=2000&to=1000").code(), "bad_parameter");
  EXPECT_EQ(live.call("GET", "/v1/usage?steps=0").code(), "bad_parameter");
}

}  // namespace
}  // namespace dove::server
