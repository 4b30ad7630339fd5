// How a job uses what it holds, through the API, with an agent that says so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class JobUseTest : public WithApi {
 protected:
  JobUseTest() {
    Inventory inventory = controller::small_inventory();
    inventory.devices.resize(2);
    agent.also_said["inventory"] = codec::inventory_json(inventory);
    agent.connect();
    job = live.submit(small_job_body());
    EXPECT_TRUE(live.until([&] { return live.state(job) == "preparing"; }));
  }
  Answer use() { return live.call("GET", fmt::format("/v1/jobs/{}/use", job)); }

  FakeAgent agent{live, "n1"};
  std::uint64_t job = 0;
};

TEST_F(JobUseTest, IsWhatItsNodesTellAndIsKeptAfterItsEnd) {
  const Json before = use().body;
  EXPECT_TRUE(before.at("begin").is_null());
  EXPECT_TRUE(before.at("cpu").at("mean").empty());
  agent.tell("started", job, 1);
  agent.tell(
      "use", job, 1,
      {{"span_us", 10'000'000}, {"cpu", 1250}, {"devices", {{{"device", 0}, {"use", 250}}}}});
  const Json now = use().body;
  EXPECT_TRUE(now.at("begin").is_string()) << now;
  EXPECT_EQ(now.at("cpu").at("mean"), Json::array({12.5}));
  EXPECT_EQ(now.at("gpu").at("mean"), Json::array({nullptr})) << "nothing was measured";
  EXPECT_EQ(now.at("nodes").at(0).at("node"), "n1");
  EXPECT_EQ(now.at("nodes").at(0).at("devices"), (Json::array({{{"device", 0}, {"gpu", 2.5}}})));
  const Json map = live.call("GET", "/v1/nodes?brief=1").body;
  EXPECT_EQ(map.at("nodes").at(0).at("devices_use_percent"), Json::array({2.5, nullptr})) << map;
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_TRUE(live.until([&] { return use().body.at("nodes").empty(); }));
  const Json after = use().body;
  EXPECT_EQ(after.at("begin"), now.at("begin"));
  EXPECT_EQ(after.at("cpu"), now.at("cpu"));
  EXPECT_FALSE(
      live.call("GET", "/v1/nodes?brief=1").body.at("nodes").at(0).contains("devices_use_percent"));
}

TEST_F(JobUseTest, AJobThatIsNotThereIsNotFound) {
  EXPECT_EQ(live.call("GET", "/v1/jobs/99/use").code(), "no_such_job");
}

}  // namespace
}  // namespace dove::server
