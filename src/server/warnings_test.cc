#include "backends/native/warnings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

Json offers_overlay() {
  Inventory inventory = controller::small_inventory();
  inventory.has_overlay = true;
  return {{"inventory", codec::inventory_json(inventory)}};
}

class Warnings : public WithApi {
 protected:
  Json container_of(std::uint64_t job) {
    return live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("exec").at("container");
  }
};

// The body of a gang in containers, and a node, n1, that offers an overlay.
class NetworksOfGangs : public Warnings {
 protected:
  void SetUp() override {
    Warnings::SetUp();
    body["container"] = {{"image", "small"}};
    body["tasks"] = 2;
    first.also_said = offers_overlay();
    first.connect();
  }

  Json body = small_job_body();
  FakeAgent first{live, "n1"};
};

TEST_F(Warnings, AreShownWithTheirNodesWhileTheAttemptIsTheLast) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.wait_line("launch");
  const std::string path = "/v1/jobs/" + std::to_string(job);
  EXPECT_EQ(live.call("GET", path).body.at("warnings"), Json::array());
  const Json said{{"warnings", {"no network", "no mounts"}}};
  EXPECT_EQ(agent.tell("warnings", job, 1, said).status, 200);
  const Json both = Json::array(
      {{{"text", "no mounts"}, {"nodes", {"n1"}}}, {{"text", "no network"}, {"nodes", {"n1"}}}});
  EXPECT_EQ(live.call("GET", path).body.at("warnings"), both);
  EXPECT_EQ(agent.tell("warnings", job, 7, {{"warnings", {"of another"}}}).status, 200);
  EXPECT_EQ(live.call("GET", path).body.at("warnings"), both) << "the node has no such attempt";
  EXPECT_EQ(agent.tell("warnings", job, 1, {{"warnings", 3}}).status, 400);
}

TEST_F(NetworksOfGangs, AGangHasANetworkOfItsOwnWhereAllNodesOfferOne) {
  FakeAgent second(live, "n2");
  second.connect();
  EXPECT_FALSE(container_of(live.submit(body)).contains("network"));
  second.also_said = offers_overlay();
  EXPECT_EQ(second.sync().status, 200);
  EXPECT_EQ(container_of(live.submit(body)).at("network"), "gang");
  body["container"]["network"] = "host";
  EXPECT_EQ(container_of(live.submit(body)).at("network"), "host");
  body["container"].erase("network");
  body["tasks"] = 1;
  EXPECT_FALSE(container_of(live.submit(body)).contains("network")) << "its node decides";
}

TEST_F(NetworksOfGangs, WhatANodeThatIsAwayOfferedLastCounts) {
  FakeAgent second(live, "n2");
  second.connect();
  const auto goes = [&] {
    second.stream.reset();  // as after a restart of the controller it has no session
    return live.until([&] { return live.node_contact("n2") == "broken"; });
  };
  ASSERT_TRUE(goes());
  EXPECT_FALSE(container_of(live.submit(body)).contains("network")) << "it has none";
  second.also_said = offers_overlay();
  second.stream_status = 0;
  second.connect();
  ASSERT_TRUE(goes());
  EXPECT_EQ(container_of(live.submit(body)).at("network"), "gang") << "it has one";
}

TEST_F(Warnings, WhatIsNotEnforcedChangesWithAReport) {
  FakeAgent agent(live, "n1");
  agent.also_said = {{"not_enforced", "no nft"}};
  agent.connect();
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("not_enforced"), "no nft");
  EXPECT_EQ(agent.report(Json::array(), 0, {{"not_enforced", ""}}).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/nodes/n1").body.at("not_enforced"), "");
}

}  // namespace
}  // namespace dove::server
