// Settings through the API: they fill in, override and lock, level by level.
#include "server/api_fixture.h"

namespace dove::server {
namespace {

class SettingsApi : public WithApi {
 protected:
  void SetUp() override {
    apply({{{"kind", "Domain"}, {"name", "corp"}},
           {{"kind", "Project"}, {"name", "vision"}, {"domain", "corp"}},
           {{"kind", "Project"}, {"name", "free"}},
           {{"kind", "Queue"}, {"name", "night"}},
           {{"kind", "Queue"}, {"name", "day"}}});
  }
  static Json settings(const std::string& name, const Json& job, const Json& more = nullptr) {
    Json out{{"kind", "Settings"}, {"name", name}, {"job", job}};
    if (!more.is_null()) out.update(more);
    return out;
  }
  Answer declare(const Json& object) {
    return live.call("POST", "/v1/objects", Json{{"objects", Json::array({object})}});
  }
  void apply(const Json& objects) {
    const Answer answer = live.call("POST", "/v1/objects", Json{{"objects", objects}});
    ASSERT_EQ(answer.status, 200) << answer.response.body;
  }
  Answer submit(const std::string& project, const Json& more = nullptr) {
    Json body = small_job_body();
    if (!project.empty()) body["project"] = project;
    if (!more.is_null()) body.update(more);
    return live.call("POST", "/v1/jobs", body);
  }
  Json job(const Answer& submitted) {
    EXPECT_EQ(submitted.status, 201) << submitted.response.body;
    const auto id = submitted.body.at("id").get<std::int64_t>();
    return live.call("GET", "/v1/jobs/" + std::to_string(id)).body;
  }
};

TEST_F(SettingsApi, TheNearestLevelFillsInWhatIsLeftOut) {
  apply({settings("all", {{"queue", "night"}, {"time_limit", "1h"}, {"retries_max", 3}}),
         settings("corp", {{"time_limit", "2h"}}, {{"domain", "corp"}}),
         settings("vision", {{"queue", "day"}}, {{"project", "vision"}})});
  const Answer submitted = submit("vision");
  const Json vision = job(submitted);
  EXPECT_EQ(vision.at("queue"), "day");
  EXPECT_EQ(vision.at("time_limit_s"), 7200);
  EXPECT_EQ(vision.at("retries_max"), 3);
  const std::string warned = submitted.body.at("warnings").dump();
  for (const char* part : {"of project vision", "of domain corp", "of the cluster"}) {
    EXPECT_NE(warned.find(part), std::string::npos) << warned;
  }
  const Json free = job(submit("free", {{"time_limit_s", 60}}));
  EXPECT_EQ(free.at("queue"), "night");
  EXPECT_EQ(free.at("time_limit_s"), 60);
  EXPECT_EQ(job(submit("", {{"queue", "day"}})).at("queue"), "day");
}

TEST_F(SettingsApi, AWiderLockHoldsAgainstEverybodyBelow) {
  apply({settings("all", {{"requeue", false}, {"time_limit", "1h"}},
                  {{"locked", Json::array({"time_limit"})}}),
         settings("vision", {{"requeue", true}}, {{"project", "vision"}})});
  EXPECT_EQ(job(submit("vision")).at("requeue"), true);
  EXPECT_EQ(job(submit("free")).at("requeue"), false);
  EXPECT_EQ(job(submit("vision", {{"time_limit", "60m"}})).at("time_limit_s"), 3600);
  for (const Json& other : {Json{{"time_limit", "2h"}}, Json{{"time_limit_s", 7200}},
                            Json{{"time_limit_us", 1'500'000}}}) {
    const Answer refused = submit("vision", other);
    EXPECT_EQ(refused.code(), "setting_locked") << other;
    EXPECT_NE(refused.response.body.find("\\\"all\\\" of the cluster lock it as 3600"),
              std::string::npos)
        << refused.response.body;
  }
  const Json below = settings("corp", {{"time_limit", "2h"}}, {{"domain", "corp"}});
  const Answer useless = declare(below);
  EXPECT_EQ(useless.status, 200);
  EXPECT_NE(useless.response.body.find("time_limit has no effect"), std::string::npos)
      << useless.response.body;
  EXPECT_EQ(job(submit("vision")).at("time_limit_s"), 3600);
  Json locks = below;
  locks["locked"] = Json::array({"time_limit"});
  EXPECT_EQ(declare(locks).code(), "setting_locked");
}

TEST_F(SettingsApi, VariablesAreSettingsOfTheirOwn) {
  apply(Json::array({settings("all", {{"environment", {{"PROXY", "p:1"}, {"TEAM", "all"}}}},
                              {{"locked", Json::array({"environment"})}})}));
  EXPECT_EQ(submit("", {{"environment", {{"PROXY", "mine"}}}}).code(), "setting_locked");
  EXPECT_EQ(submit("", {{"environment", {{"OWN", "1"}, {"TEAM", "all"}}}}).status, 201);
}

TEST_F(SettingsApi, SharesSendJobsToExecutors) {
  const auto shares = [&](const Json& executor, const Json& more = nullptr) {
    return settings("vision", {{"executor", executor}},
                    more.is_null() ? Json{{"project", "vision"}} : more);
  };
  EXPECT_EQ(declare(shares({{"slurm", 100}})).code(), "executor_unknown");
  apply({{{"kind", "User"}, {"name", "slurm-1"}},
         {{"kind", "Executor"},
          {"name", "slurm"},
          {"service_account", "slurm-1"},
          {"nodes", {"n[1-2]"}},
          {"runs_jobs", true}},
         shares({{"slurm", 100}})});
  const auto executor = [&](const Json& more = nullptr) {
    return job(submit("vision", more)).value("executor", "");
  };
  EXPECT_EQ(executor(), "slurm");
  EXPECT_EQ(executor({{"app", {{"name", "shell"}, {"port", 80}}}}), "") << "it runs no sessions";
  ASSERT_EQ(live.call("PUT", "/v1/secrets/hub", Json("x")).status, 200);
  const Json secrets = {{"secrets", {{{"secret", "hub"}, {"variable", "HUB"}}}}};
  EXPECT_EQ(executor(secrets), "") << "it gives no secrets";
  EXPECT_EQ(live.call("DELETE", "/v1/secrets/hub").status, 204);
  const std::string first = submit("vision").body.at("warnings").dump();
  EXPECT_NE(first.find("of project vision"), std::string::npos) << first;
  apply(Json::array({shares({{"slurm", {{"queues", {"night"}}}}})}));
  EXPECT_EQ(executor(), "");
  EXPECT_EQ(executor({{"queue", "night"}}), "slurm");
  apply(Json::array({shares({{"slurm", 0}})}));
  EXPECT_EQ(executor(), "");
  EXPECT_EQ(executor({{"executor", "slurm"}}), "slurm");
  EXPECT_EQ(declare(shares({{"slurm", 101}})).code(), "out_of_range");
  EXPECT_EQ(declare(shares({{"slurm", 30}},
                           {{"project", "vision"}, {"locked", Json::array({"executor"})}}))
                .code(),
            "bad_route");
}

TEST_F(SettingsApi, WhatIsWrongIsRefusedWhereItIsDeclared) {
  const auto code = [&](const Json& object) { return declare(object).code(); };
  EXPECT_EQ(code(settings("x", {{"time_limitt", "1h"}})), "unknown_field");
  EXPECT_EQ(code(settings("x", {{"time_limit", "soon"}})), "bad_value");
  EXPECT_EQ(code(settings("x", {{"command", {"true"}}})), "not_a_setting");
  EXPECT_EQ(code(settings("x", {{"cores", 4}})), "not_a_setting");
  EXPECT_EQ(code(settings("x", {{"queue", "day"}}, {{"locked", Json::array({"pool"})}})),
            "locks_nothing");
  EXPECT_EQ(code(settings("x", {{"queue", "day"}}, {{"project", "none"}})), "project_unknown");
  EXPECT_EQ(code(settings("x", {{"queue", "day"}})), "");
  EXPECT_EQ(code(settings("y", {{"queue", "night"}})), "setting_twice");
  // Only the cluster's administrators say what runs.
  const std::string token = live.call("POST", "/v1/users/max/token?create=1").body.at("token");
  apply(Json::array({{{"kind", "Binding"},
                      {"name", "max"},
                      {"role", "admin"},
                      {"domain", "corp"},
                      {"users", Json::array({"max"})}}}));
  const Json own = settings("z", {{"environment", {{"LD_PRELOAD", "x"}}}}, {{"domain", "corp"}});
  EXPECT_EQ(
      live.call("POST", "/v1/objects", Json{{"objects", Json::array({own})}}, {}, &token).code(),
      "role_needed");
}

}  // namespace
}  // namespace dove::server
