// Idle sessions through the API, with an agent that says how they are used.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

class IdleTest : public WithApi {
 protected:
  IdleTest() { agent.connect(); }

  void declare(const Json& more = Json::object()) {
    Json rule{{"no_input_for_us", 200'000}, {"grace_us", 0}, {"warning_us", 300'000}};
    rule.update(more);
    const Answer answer = live.call("PUT", "/v1/objects/idle_rule/all", rule);
    ASSERT_EQ(answer.status, 200) << answer.response.body;
  }
  // A job that runs, with an app.
  std::uint64_t start(const std::string& name, const std::string& activity = "") {
    Json body = small_job_body(name);
    body["app"] = {{"name", name}, {"socket", "app"}};
    if (!activity.empty()) body["app"]["activity"] = activity;
    const std::uint64_t job = live.submit(body);
    EXPECT_TRUE(live.until([&] { return live.state(job) == "preparing"; }));
    agent.tell("prepared", job, 1);
    agent.tell("started", job, 1);
    EXPECT_TRUE(live.until([&] { return live.state(job) == "running"; }));
    return job;
  }
  void use(std::uint64_t job, Json more = Json::object()) {
    Json said{{"span_us", 1'000'000}, {"cpu", 0}};
    said.update(more);
    agent.tell("use", job, 1, said);
  }
  Json shown(std::uint64_t job) { return live.call("GET", "/v1/jobs/" + std::to_string(job)).body; }
  bool is_warned(std::uint64_t job) { return shown(job).contains("idle"); }
  bool until_warned(std::uint64_t job) {
    return live.until([&] { return is_warned(job); });
  }
  Answer keep(std::uint64_t job, const Json& body = nullptr) {
    return live.call("POST", fmt::format("/v1/jobs/{}/keep", job), body);
  }

  FakeAgent agent{live, "n1"};
};

TEST_F(IdleTest, ASessionThatNobodyUsesIsWarnedStoppedAndSaysWhy) {
  const std::uint64_t job = start("tab");
  use(job);
  declare();
  ASSERT_TRUE(until_warned(job));
  const Json idle = shown(job).at("idle");
  EXPECT_EQ(idle.at("check"), "input");
  EXPECT_EQ(idle.at("rule"), "all");
  EXPECT_EQ(
      idle.at("ends_at_us").get<std::int64_t>() - idle.at("observed_at_us").get<std::int64_t>(),
      300'000);
  const std::string why =
      live.call("GET", fmt::format("/v1/jobs/{}/why", job)).body.value("text", "");
  EXPECT_NE(why.find("nobody uses it: no input for"), std::string::npos) << why;
  EXPECT_NE(why.find(fmt::format("dove keep {}", job)), std::string::npos) << why;
  EXPECT_EQ(agent.wait_line("stop").value("reason", ""), "idle");
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  ASSERT_TRUE(live.until([&] { return live.state(job) == "stopped_idle"; }));
  EXPECT_EQ(shown(job).at("idle").at("evidence"), idle.at("evidence"));
  EXPECT_EQ(shown(job).at("outcome"), "stopped_idle");
  EXPECT_EQ(keep(job).code(), "not_running");
}

TEST_F(IdleTest, WhenASessionWasUsedLastIsShown) {
  const auto last_input = [&](std::uint64_t job) {
    return live.call("GET", fmt::format("/v1/jobs/{}/use", job)).body.at("last_input");
  };
  const std::uint64_t job = start("tab");
  const std::uint64_t knows = start("knows", "jupyter");
  EXPECT_TRUE(last_input(job).is_null());
  use(job, {{"in_use", true}});
  use(knows, {{"app_told", true}, {"unused_us", 3'600'000'000}});
  ASSERT_TRUE(live.until([&] { return last_input(job).is_string(); }));
  ASSERT_TRUE(live.until([&] { return last_input(knows).is_string(); }));
  EXPECT_LT(last_input(knows).get<std::string>(), last_input(job).get<std::string>());
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  ASSERT_TRUE(live.until([&] { return live.state(job) == "completed"; }));
  EXPECT_TRUE(last_input(job).is_null()) << "it does not run any more";
}

// They run as long as the idle one, and longer.
TEST_F(IdleTest, WhatIsNotKnownIsNotIdle) {
  const std::uint64_t untold = start("untold");
  const std::uint64_t silent_app = start("silent", "jupyter");
  const std::uint64_t busy = start("busy", "jupyter");
  const std::uint64_t idle = start("idle", "jupyter");
  use(silent_app);
  use(busy, {{"app_told", true}, {"in_use", true}});
  use(idle, {{"app_told", true}, {"unused_us", 60'000'000}});
  declare();
  ASSERT_TRUE(until_warned(idle));
  for (const std::uint64_t other : {untold, silent_app, busy}) {
    EXPECT_FALSE(is_warned(other)) << other;
  }
}

TEST_F(IdleTest, OneThatCannotBeReadStopsNoOther) {
  auto spec = std::make_shared<JobSpec>();
  spec->user = "admin";
  spec->exec_digest = std::string(64, '0');
  spec->groups.emplace_back().per_task.cores = 1;
  controller::Input input;
  input.events.push_back({JobSubmitted{spec}, {}});
  std::uint64_t broken = 0;
  live.controller.submit(std::move(input), [&](const Result<controller::Committed>& committed) {
    if (committed.ok()) broken = committed->first_job.value;
  });
  ASSERT_TRUE(live.until([&] { return broken != 0 && live.state(broken) == "preparing"; }));
  agent.tell("prepared", broken, 1);
  agent.tell("started", broken, 1);
  ASSERT_TRUE(live.until([&] { return live.state(broken) == "running"; }));
  const std::uint64_t job = start("tab");
  use(broken);
  use(job);
  declare();
  EXPECT_TRUE(until_warned(job));
  EXPECT_FALSE(is_warned(broken));
}

TEST_F(IdleTest, UseEndsTheWarning) {
  const std::uint64_t job = start("tab");
  use(job);
  declare({{"warning_us", 60'000'000}});
  ASSERT_TRUE(until_warned(job));
  use(job, {{"in_use", true}});
  EXPECT_TRUE(live.until([&] { return !is_warned(job); }));
  use(job);
  EXPECT_TRUE(until_warned(job));
}

TEST_F(IdleTest, LittleUseOfWhatItHoldsIsIdleWhereTheRuleLooksAtIt) {
  const std::uint64_t job = start("tab");
  const std::uint64_t other = start("works");
  declare({{"no_input_for_us", nullptr}, {"window_us", 1'000'000}, {"cpu_percent", 5}});
  use(job, {{"cpu", 499}});
  use(other, {{"cpu", 500}});
  ASSERT_TRUE(until_warned(job));
  const Json idle = shown(job).at("idle");
  EXPECT_EQ(idle.at("check"), "use");
  EXPECT_EQ(idle.at("evidence"), "CPU at 4.99 % for 1 s (limit 5 %)");
  EXPECT_FALSE(is_warned(other));
}

TEST_F(IdleTest, AKeptSessionGoesOnAsLongAsItsRuleAllows) {
  const std::uint64_t job = start("tab");
  use(job);
  EXPECT_EQ(keep(job).code(), "no_idle_rule");
  declare({{"warning_us", 60'000'000}});
  ASSERT_TRUE(until_warned(job));
  const Answer kept = keep(job, Json{{"for", "4h"}});
  ASSERT_EQ(kept.status, 200) << kept.response.body;
  EXPECT_EQ(kept.body.at("most_us"), 200'000) << "and no longer";
  EXPECT_FALSE(is_warned(job));
  EXPECT_TRUE(until_warned(job)) << "when it is over";
  EXPECT_EQ(keep(job, Json{{"for", "soon"}}).status, 400);
  EXPECT_EQ(keep(99).status, 404);
}

TEST_F(IdleTest, WithoutItsRuleNothingIsIdle) {
  const std::uint64_t job = start("tab");
  use(job);
  declare({{"warning_us", 60'000'000}});
  ASSERT_TRUE(until_warned(job));
  ASSERT_EQ(live.call("DELETE", "/v1/objects/idle_rule/all").status, 204);
  EXPECT_TRUE(live.until([&] { return !is_warned(job); }));
}

TEST_F(IdleTest, ALifetimeEndsWhatIsUsed) {
  const std::uint64_t job = start("tab");
  use(job, {{"in_use", true}});
  declare({{"lifetime_us", 600'000}});
  ASSERT_TRUE(until_warned(job));
  EXPECT_EQ(shown(job).at("idle").at("check"), "lifetime");
  EXPECT_EQ(agent.wait_line("stop").value("reason", ""), "idle");
}

TEST_F(IdleTest, RulesThatMeanNothingAreRefused) {
  const auto refused = [&](const Json& rule) {
    return live.call("PUT", "/v1/objects/idle_rule/odd", rule).code();
  };
  EXPECT_EQ(refused(Json::object()), "bad_idle_rule");
  EXPECT_EQ(refused({{"window", "10m"}}), "bad_idle_rule");
  EXPECT_EQ(refused({{"gpu_percent", 5}}), "bad_idle_rule");
  EXPECT_EQ(refused({{"gpu_percent", 0}, {"window", "10m"}}), "bad_idle_rule");
  EXPECT_EQ(refused({{"lifetime", "5m"}}), "bad_idle_rule") << "its warning is as long";
  EXPECT_EQ(refused({{"no_input_for", "1h"}, {"projects", {"none"}}}), "project_unknown");
  EXPECT_EQ(refused({{"exempt", true}}), "");
}

}  // namespace
}  // namespace dove::server
