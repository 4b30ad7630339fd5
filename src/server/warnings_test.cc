#include "backends/native/boards/warnings.h"

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

Json offers(const std::vector<std::string>& images, bool pulls = false) {
  return {{"limits_memory", true},
          {"containers", {{"images", images}, {"names_all", true}, {"pulls", pulls}}}};
}

// What the submitter of a job with this image is warned of.
class WarningsOfOffers : public Warnings {
 protected:
  std::string said(const Json& body) {
    const Answer answer = live.call("POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.response.body;
    const Json& warnings = answer.body.at("warnings");
    return warnings.empty() ? "" : warnings.at(0).get<std::string>();
  }
  std::string said_of(const std::string& image) {
    Json body = small_job_body();
    body["container"] = {{"image", image}};
    return said(body);
  }
};

TEST_F(WarningsOfOffers, AnImageThatNoNodeHasIsWarnedOf) {
  FakeAgent first(live, "n1");
  first.also_said = {{"offers", offers({"debian", "any:*", "torch:2.5", "tool:latest"})}};
  first.connect();
  FakeAgent second(live, "n2");
  second.also_said = {{"offers", offers({"other"})}};
  second.connect();
  EXPECT_EQ(said_of("not-there"),
            "this job cannot start: no node of pool default has the image not-there (they have "
            "any, debian, other, tool:latest, torch:2.5). It fails when its turn comes");
  for (const char* image : {"debian", "debian:latest", "any:1", "any", "torch:2.5", "tool", "other",
                            "/a/squash/file.sqsh"}) {
    EXPECT_EQ(said_of(image), "") << image;
  }
  for (const char* image : {"debian:12", "torch", "torch:2", "team/torch:2.5"}) {
    EXPECT_NE(said_of(image), "") << image;
  }
  EXPECT_NE(said_of("docker://a.io/b:1").find("and no node of pool default brings images from"),
            std::string::npos);
  Json away = small_job_body();
  away["container"] = {{"image", "debian"}};
  away["nodes_excluded"] = {"n1"};
  EXPECT_NE(said(away), "") << "the node that has it is excluded";
  EXPECT_EQ(second.report(Json::array(), 0, {{"offers", offers({"not-there"}, true)}}).status, 200);
  EXPECT_EQ(said_of("not-there"), "");
  EXPECT_EQ(said_of("docker://a.io/b:1"), "");
}

TEST_F(WarningsOfOffers, NobodyIsWarnedWhileANodeHasNotSaid) {
  FakeAgent first(live, "n1");
  first.also_said = {{"offers", offers({"debian"})}};
  first.connect();
  FakeAgent second(live, "n2");
  second.connect();
  EXPECT_EQ(said_of("not-there"), "");
  second.also_said = {{"offers", {{"limits_memory", true}, {"containers", nullptr}}}};
  EXPECT_EQ(second.sync().status, 200);
  EXPECT_NE(said_of("not-there"), "");
}

TEST_F(WarningsOfOffers, WhereNoneRunOrNoneIsLimitedItIsSaid) {
  FakeAgent agent(live, "n1");
  agent.also_said = {{"offers", {{"limits_memory", false}, {"containers", nullptr}}}};
  agent.connect();
  EXPECT_NE(said_of("debian").find("no node of pool default runs containers"), std::string::npos);
  Json body = small_job_body();
  EXPECT_EQ(said(body), "");
  body["memory"] = "1Mi";
  EXPECT_NE(said(body).find("memory is reserved but not limited"), std::string::npos);
  agent.also_said = {{"offers", {{"limits_memory", true}, {"containers", nullptr}}}};
  EXPECT_EQ(agent.sync().status, 200);
  EXPECT_EQ(said(body), "");
}

TEST_F(WarningsOfOffers, AreRefusedWhenTheyAreNone) {
  FakeAgent agent(live, "n1");
  agent.connect();
  Json many = offers({});
  many["containers"]["images"] = std::vector<std::string>(257, "a");
  for (const Json& bad : {Json(3), Json{{"limits_memory", 1}}, Json::object(), many}) {
    EXPECT_EQ(agent.report(Json::array(), 0, {{"offers", bad}}).status, 400) << bad.dump();
  }
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
