// Declared objects through the API: what is left out stays, and nobody undoes what they did not
// see.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class Objects : public WithApi {
 protected:
  Answer put(const std::string& path, const Json& body) {
    return live.call("PUT", "/v1/objects/" + path, body);
  }
  Json get(const std::string& path) { return live.call("GET", "/v1/objects/" + path).body; }
};

TEST_F(Objects, AFieldThatIsLeftOutStays) {
  ASSERT_EQ(put("cluster/c", Json{{"fence", "9s"}, {"array_max", 12}}).status, 200);
  const Answer changed = live.call(
      "POST", "/v1/objects", Json{{"objects", {{{"kind", "Cluster"}, {"preemption", false}}}}});
  ASSERT_EQ(changed.status, 200) << changed.response.body;
  const Json cluster = get("cluster/c");
  EXPECT_EQ(cluster.at("fence_s"), 9);
  EXPECT_EQ(cluster.at("array_max"), 12);
  EXPECT_EQ(cluster.at("preemption"), false);
  const Json change = changed.body.at("changes").at(0);
  EXPECT_EQ(change.at("before").at("preemption"), true);
  EXPECT_EQ(change.at("before").at("array_max"), change.at("object").at("array_max"));
  ASSERT_EQ(put("cluster/c", Json{{"fence", nullptr}}).status, 200);
  EXPECT_EQ(get("cluster/c").at("fence_s"), 5);
  EXPECT_EQ(get("cluster/c").at("array_max"), 12);
}

TEST_F(Objects, APoolThatChangesTheLimitsOfRunningJobsSaysOfHowMany) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = live.submit(small_job_body());
  agent.wait_line("launch");
  ASSERT_EQ(agent.tell("started", job, 1).status, 200);
  const Json pool{{"kind", "Pool"}, {"name", "p"}, {"default", true}, {"nodes", {"*"}}};
  Json limited = pool;
  limited["time_limit_default"] = "1h";
  const auto warnings = [&](const Json& object) {
    const Answer tried = live.call("POST", "/v1/objects?dry_run=true", Json{{"objects", {object}}});
    return tried.body.at("changes").at(0).at("warnings").dump();
  };
  EXPECT_EQ(warnings(pool), "[]");
  EXPECT_NE(warnings(limited).find("none of their own (1)"), std::string::npos)
      << warnings(limited);
}

TEST_F(Objects, AFileMayDeclareALongChainInAnyOrder) {
  Json queues = Json::array();
  for (int i = 20; i > 0; --i) {
    queues.push_back({{"kind", "Queue"}, {"name", "q" + std::to_string(i)}});
    if (i > 1) queues.back()["parent"] = "q" + std::to_string(i - 1);
  }
  const Answer made = live.call("POST", "/v1/objects", Json{{"objects", queues}});
  EXPECT_EQ(made.status, 200) << made.response.body;
}

TEST_F(Objects, PagesHaveAllThatOneListHas) {
  ASSERT_EQ(put("group/g", Json::object()).status, 200);
  ASSERT_EQ(put("queue/q1", Json{{"labels", {{"for", "test"}}}}).status, 200);
  ASSERT_EQ(put("queue/q2", Json::object()).status, 200);
  ASSERT_EQ(put("idle_rule/i", Json{{"exempt", true}, {"labels", {{"for", "test"}}}}).status, 200);
  for (const std::string filter : {"", "&labels=for%3Dtest", "&kind=queue"}) {
    const Json all = live.call("GET", "/v1/objects?limit=1000" + filter).body;
    EXPECT_TRUE(all.at("next").is_null());
    EXPECT_GT(all.at("objects").size(), 1u) << filter;
    Json pieces = Json::array();
    for (std::string after;;) {
      const Answer page = live.call("GET", "/v1/objects?limit=1&after=" + after + filter);
      ASSERT_EQ(page.status, 200) << page.response.body;
      for (const Json& object : page.body.at("objects")) pieces.push_back(object);
      if (page.body.at("next").is_null()) break;
      after = page.body.at("next").get<std::string>();
    }
    EXPECT_EQ(pieces, all.at("objects")) << filter;
  }
}

// In an upgrade another controller answers the next page.
TEST_F(Objects, APageGoesOnFromACursorOfTheFormerVersion) {
  ASSERT_EQ(put("queue/q1", Json::object()).status, 200);
  ASSERT_EQ(put("queue/q2", Json::object()).status, 200);
  ASSERT_EQ(put("idle_rule/i", Json{{"exempt", true}}).status, 200);
  const Json first = live.call("GET", "/v1/objects?limit=1&kind=queue").body;
  std::string cursor = first.at("next");
  ASSERT_EQ(cursor[0], '0') << cursor;
  const Json rest = live.call("GET", "/v1/objects?after=" + cursor).body.at("objects");
  ASSERT_GE(rest.size(), 2U);
  EXPECT_EQ(live.call("GET", "/v1/objects?after=" + cursor.substr(1)).body.at("objects"), rest);
}

TEST_F(Objects, WhatIsWrongWithTheDeclaredOneIsSaidToo) {
  const Json child{{"kind", "Queue"}, {"name", "child"}, {"parent", "mother"}};
  const Json mother{{"kind", "Queue"}, {"name", "mother"}, {"weight", -1}};
  const Answer refused = live.call("POST", "/v1/objects", Json{{"objects", {child, mother}}});
  EXPECT_EQ(refused.status, 400);
  const std::string detail = refused.body.at("detail").get<std::string>();
  EXPECT_NE(detail.find("Queue/child: "), std::string::npos) << detail;
  EXPECT_NE(detail.find("; and Queue/mother: -1 is out of range"), std::string::npos) << detail;
}

TEST_F(Objects, ApplyingANodeDoesNotTakeItBackIntoService) {
  FakeAgent agent(live, "n1");
  agent.connect();
  live.call("POST", "/v1/nodes/n1/drain", Json{{"reason", "fan"}});
  ASSERT_EQ(put("node/n1", Json{{"features", {"fast"}}}).status, 200);
  EXPECT_EQ(get("node/n1").at("drained"), true);
  EXPECT_EQ(get("node/n1").at("drain_reason"), "fan");
}

TEST_F(Objects, AStaleWriteIsRefused) {
  ASSERT_EQ(put("queue/q", Json{{"priority", 1}}).status, 200);
  Json read = get("queue/q");
  const std::string seen = read.at("version").get<std::string>();
  ASSERT_EQ(put("queue/q", Json{{"priority", 2}, {"version", seen}}).status, 200);
  EXPECT_NE(get("queue/q").at("version"), seen);
  read["weight"] = 5;
  const Answer stale = put("queue/q", read);
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.code(), "stale_version");
  const std::string detail = stale.body.at("detail").get<std::string>();
  EXPECT_NE(detail.find("queue q was changed since version " + seen), std::string::npos) << detail;
  EXPECT_EQ(get("queue/q").at("priority"), 2);
  EXPECT_EQ(get("queue/q").at("weight"), 1);
  // Repeating what was done is no conflict, and without a version nothing is compared.
  EXPECT_EQ(put("queue/q", Json{{"priority", 2}, {"version", seen}}).body.at("change"), "none");
  EXPECT_EQ(put("queue/q", Json{{"weight", 5}}).status, 200);
  EXPECT_EQ(put("queue/gone", Json{{"version", seen}}).code(), "stale_version");
  EXPECT_EQ(put("queue/q", Json{{"version", 7}, {"weight", 6}}).status, 400);
}

TEST_F(Objects, WhatHasChangedIsNotDeletedByWhoeverSawItBefore) {
  ASSERT_EQ(put("queue/q", Json{{"priority", 1}}).status, 200);
  const std::string seen = get("queue/q").at("version").get<std::string>();
  ASSERT_EQ(put("queue/q", Json{{"priority", 2}}).status, 200);
  const Answer stale = live.call("DELETE", "/v1/objects/queue/q?version=" + seen);
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(stale.code(), "stale_version");
  EXPECT_EQ(stale.body.at("field"), "version");
  const std::string detail = stale.body.at("detail").get<std::string>();
  EXPECT_NE(detail.find("leave out `version` to delete it regardless"), std::string::npos)
      << detail;
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/q?version=").status, 409);
  EXPECT_EQ(get("queue/q").at("priority"), 2);
  const std::string now = get("queue/q").at("version").get<std::string>();
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/q?version=" + now).status, 204);
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/q?version=" + now).status, 404);
  ASSERT_EQ(put("queue/q", Json{{"priority", 3}}).status, 200);
  EXPECT_EQ(live.call("DELETE", "/v1/objects/queue/q").status, 204);
}

TEST_F(Objects, WritesThatMeetBothHold) {
  int answered = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string name = i % 2 == 0 ? "weight" : "priority";
    wire::Request request;
    request.method = "PUT";
    request.target = "/v1/objects/queue/q";
    request.headers = {{"Authorization", "Bearer " + live.admin_token}};
    request.body = Json{{name, 10 + i}}.dump();
    live.client->call(std::move(request), [&](Result<wire::Response> response) {
      ASSERT_TRUE(response.ok());
      EXPECT_EQ(response->status, 200) << response->body;
      ++answered;
    });
  }
  ASSERT_TRUE(live.until([&] { return answered == 8; }));
  EXPECT_GE(get("queue/q").at("weight"), 10);
  EXPECT_GE(get("queue/q").at("priority"), 10);
}

TEST(ObjectsOfALevel, ADryRunRefusesWhatTheLevelCannotHold) {
  store::MemoryStore store;
  LiveOptions options;
  options.first_level = kFirstLevel;
  LiveApi live(store, policies::standard_policies(), options);
  const Json queue{{"kind", "Queue"}, {"name", "q"}, {"labels", {{"team", "vision"}}}};
  for (const char* flag : {"?dry_run=1", ""}) {
    EXPECT_EQ(live.call("PUT", fmt::format("/v1/objects/queue/q{}", flag), queue).code(),
              "level_needed")
        << flag;
    EXPECT_EQ(live.call("POST", fmt::format("/v1/objects{}", flag), {{"objects", {queue}}}).code(),
              "level_needed")
        << flag;
  }
  const Json plain{{"kind", "Queue"}, {"name", "q"}};
  EXPECT_EQ(live.call("PUT", "/v1/objects/queue/q?dry_run=1", plain).status, 200);
}

}  // namespace
}  // namespace dove::server
