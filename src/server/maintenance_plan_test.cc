// The plan of an upgrade: what is shown before, by the same passes that do it afterwards.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class MaintenancePlanTest : public WithApi {
 protected:
  MaintenancePlanTest() {
    for (const char* name : {"n1", "n2", "n3"}) {
      agents.push_back(std::make_unique<FakeAgent>(live, name));
      agents.back()->connect();
    }
  }
  // Fills a node; they are filled in turn.
  std::uint64_t run_job(const Json& more) {
    Json body = small_job_body();
    body["cores"] = 4;
    body.update(more);
    const std::uint64_t job = live.submit(body);
    const Json placed = live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("nodes");
    for (const auto& agent : agents) {
      if (placed != Json::array({agent->greeting().at("name")})) continue;
      agent->tell("prepared", job, 1);
      agent->tell("started", job, 1);
    }
    EXPECT_TRUE(live.until([&] { return live.state(job) == "running"; }));
    return job;
  }
  Json plan(Json body) {
    const Answer answer = live.call("POST", "/v1/maintenance-plan", body);
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    return answer.body;
  }
  void set_unavailable(int most) {
    EXPECT_EQ(
        live.call("PUT", "/v1/objects/cluster/cluster", Json{{"max_unavailable", most}}).status,
        200);
  }
  static std::int64_t after_s(const Json& plan, std::size_t node, const char* what) {
    return (plan.at("nodes").at(node).at(what).get<std::int64_t>() -
            plan.at("at_us").get<std::int64_t>()) /
           1'000'000;
  }
  std::vector<std::unique_ptr<FakeAgent>> agents;
};

TEST_F(MaintenancePlanTest, AgentsAreReplacedInTurnsUnderTheirTasks) {
  const std::uint64_t job = run_job(Json::object());
  set_unavailable(2);
  const Json found = plan({{"action", "upgrade_agent"}, {"each_s", 60}});
  EXPECT_EQ(found.at("max_unavailable"), 2);
  ASSERT_EQ(found.at("nodes").size(), 3u);
  EXPECT_EQ(after_s(found, 0, "from_us"), 0);
  EXPECT_EQ(after_s(found, 1, "from_us"), 0);
  EXPECT_EQ(after_s(found, 2, "from_us"), 60);
  EXPECT_EQ(after_s(found, 2, "back_us"), 120);
  EXPECT_EQ(found.at("expected_s"), 120);
  Json on;
  for (const Json& node : found.at("nodes")) {
    EXPECT_TRUE(node.at("may_end").empty() && node.at("restarted").empty()) << node.dump();
    if (!node.at("go_on").empty()) on = node.at("go_on");
  }
  EXPECT_EQ(on, Json::array({job}));
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("state"), "ready") << "nothing was changed";
}

TEST_F(MaintenancePlanTest, DriversWaitForWhatRunsAsLongAsItMay) {
  const std::uint64_t job = run_job({{"time_limit_s", 600}, {"kill_grace_s", 30}});
  const Json busy = live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("nodes").at(0);
  const Json found = plan({{"action", "upgrade"}, {"each_s", 100}});
  // One at once: the two idle ones, then the one with the job, until its limit and its grace.
  ASSERT_EQ(found.at("nodes").size(), 3u);
  EXPECT_EQ(found.at("nodes").at(2).at("node"), busy);
  EXPECT_EQ(found.at("nodes").at(2).at("may_end"), Json::array({job}));
  EXPECT_EQ(after_s(found, 2, "from_us"), 200);
  EXPECT_NEAR(static_cast<double>(after_s(found, 2, "idle_us")), 630, 1);
  EXPECT_NEAR(found.at("expected_s").get<double>(), 730, 1);
}

TEST_F(MaintenancePlanTest, WhatHasToBeStoppedIsTold) {
  const std::uint64_t saved = run_job({{"checkpoint_signal", 10}, {"checkpoint_grace_s", 60}});
  const std::uint64_t again = run_job(Json::object());
  set_unavailable(3);
  const Json found = plan({{"action", "upgrade"}, {"now", true}, {"each_s", 100}});
  std::set<std::uint64_t> checkpointed;
  std::set<std::uint64_t> restarted;
  for (const Json& node : found.at("nodes")) {
    EXPECT_TRUE(node.at("may_end").empty()) << node.dump();
    for (const Json& job : node.at("checkpointed")) checkpointed.insert(job.get<std::uint64_t>());
    for (const Json& job : node.at("restarted")) restarted.insert(job.get<std::uint64_t>());
  }
  EXPECT_EQ(checkpointed, std::set<std::uint64_t>{saved});
  EXPECT_EQ(restarted, std::set<std::uint64_t>{again});
  EXPECT_TRUE(found.at("done_us").is_number());
}

TEST_F(MaintenancePlanTest, AJobWithoutALimitIsNamed) {
  const std::uint64_t job = run_job(Json::object());
  const Json found = plan({{"action", "upgrade"}});
  EXPECT_TRUE(found.at("done_us").is_null());
  EXPECT_EQ(found.at("endless"), Json::array({job}));
  EXPECT_TRUE(found.at("nodes").at(2).at("back_us").is_null());
  EXPECT_FALSE(found.at("nodes").at(1).at("back_us").is_null()) << "the idle ones come first";
}

TEST_F(MaintenancePlanTest, TheOldPathAnswersAlikeAndNamesTheNewOne) {
  const Json body{{"action", "upgrade_agent"}};
  const Answer answer = live.call("POST", "/v1/care-plan", body);
  EXPECT_EQ(answer.status, 200) << answer.response.body;
  EXPECT_EQ(answer.body.at("nodes").size(), plan(body).at("nodes").size());
  EXPECT_EQ(answer.response.header("Link"), "</v1/maintenance-plan>; rel=\"successor-version\"");
}

TEST_F(MaintenancePlanTest, WhatIsWrongIsNamed) {
  const auto code = [&](const Json& body) {
    return live.call("POST", "/v1/maintenance-plan", body).code();
  };
  EXPECT_EQ(code({{"action", "resume"}}), "bad_value");
  EXPECT_EQ(code({{"action", "expel"}}), "bad_value");
  EXPECT_EQ(code({{"action", "upgrade"}, {"nodes", {"n9"}}}), "no_such_node");
  EXPECT_EQ(code({{"action", "upgrade"}, {"each_s", -1}}), "out_of_range");
}

}  // namespace
}  // namespace dove::server
