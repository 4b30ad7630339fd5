// Roles: what bindings let people see and change, and that nothing else does.
#include <fmt/format.h>

#include <set>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

using Names = std::set<std::string>;

class RolesApi : public WithApi {
 protected:
  void SetUp() override {
    for (const char* name : {"ada", "bob", "eve", "max", "dom", "aud"}) {
      tokens[name] = live.call("POST", std::string("/v1/users/") + name + "/token?create=1")
                         .body.at("token")
                         .get<std::string>();
    }
    apply({{{"kind", "Domain"}, {"name", "corp"}},
           {{"kind", "Project"}, {"name", "vision"}, {"domain", "corp"}},
           {{"kind", "Project"}, {"name", "speech"}, {"domain", "corp"}},
           {{"kind", "Group"}, {"name", "team"}, {"users", {"bob", "ada", "bob"}}},
           binding("team-vision", "member", {{"project", "vision"}, {"groups", {"team"}}}),
           binding("max-vision", "manager", {{"project", "vision"}, {"users", {"max"}}}),
           binding("dom-corp", "admin", {{"domain", "corp"}, {"users", {"dom"}}}),
           binding("aud-all", "auditor", {{"users", {"aud"}}})});
  }
  static Json binding(const std::string& name, const std::string& role, const Json& more) {
    Json out{{"kind", "Binding"}, {"name", name}, {"role", role}};
    if (!more.is_null()) out.update(more);
    return out;
  }
  // One object, or a list.
  Answer apply(const Json& given, const std::string& as = "") {
    const Json objects = given.is_array() ? given : Json::array({given});
    const Answer answer = call(as, "POST", "/v1/objects", Json{{"objects", objects}});
    if (as.empty()) {
      EXPECT_EQ(answer.status, 200) << answer.response.body;
    }
    return answer;
  }
  Answer call(const std::string& as, const std::string& method, const std::string& target,
              const Json& body = nullptr) {
    return live.call(method, target, body, {}, as.empty() ? nullptr : &tokens.at(as));
  }
  Answer submit(const std::string& as, const std::string& project) {
    Json body = small_job_body();
    body["project"] = project;
    return call(as, "POST", "/v1/jobs", body);
  }
  Names names(const std::string& as, const std::string& target) {
    Names found;
    const Answer answer = call(as, "GET", target);
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    for (const Json& object : answer.body.at("objects")) found.insert(object.at("name"));
    return found;
  }
  std::size_t jobs_seen(const std::string& as) {
    return call(as, "GET", "/v1/jobs").body.at("jobs").size();
  }

  std::map<std::string, std::string> tokens;
};

TEST_F(RolesApi, TheBindingIsTheMembership) {
  EXPECT_EQ(submit("ada", "vision").status, 201);
  const Answer refused = submit("eve", "vision");
  EXPECT_EQ(refused.code(), "not_in_project");
  EXPECT_NE(refused.body.at("detail").get<std::string>().find("dom or max"), std::string::npos)
      << refused.response.body;
  // A manager lets her in, and out again at once.
  const Json members = binding("eve-vision", "member", {{"project", "vision"}, {"users", {"eve"}}});
  EXPECT_EQ(apply({members}, "eve").code(), "role_needed");
  EXPECT_EQ(apply({members}, "max").status, 200);
  EXPECT_EQ(submit("eve", "vision").status, 201);
  EXPECT_EQ(call("max", "DELETE", "/v1/objects/binding/eve-vision").status, 204);
  EXPECT_EQ(submit("eve", "vision").code(), "not_in_project");
  EXPECT_EQ(submit("eve", "speech").code(), "not_in_project");
}

TEST_F(RolesApi, ALevelIsChangedByWhoeverRunsIt) {
  const auto bind = [&](const std::string& as, const std::string& role, const char* level,
                        const std::string& name) {
    return apply({binding("new", role, {{level, name}, {"users", {"eve"}}})}, as).code();
  };
  EXPECT_EQ(bind("ada", "member", "project", "vision"), "role_needed");
  EXPECT_EQ(bind("max", "admin", "project", "vision"), "role_needed");
  EXPECT_EQ(bind("max", "member", "project", "speech"), "role_needed");
  EXPECT_EQ(bind("max", "member", "domain", "corp"), "role_needed");
  EXPECT_EQ(bind("dom", "admin", "project", "speech"), "");
  // What is there is not taken over from below.
  EXPECT_EQ(apply({binding("aud-all", "member", {{"project", "vision"}})}, "max").code(),
            "role_needed");
  EXPECT_EQ(apply({binding("root", "admin", {{"users", {"dom"}}})}, "dom").code(), "role_needed");
  const Json raise{{"kind", "Project"}, {"name", "vision"}, {"limits", {{"cores", 64}}}};
  EXPECT_EQ(apply({raise}, "max").code(), "role_needed");
  EXPECT_EQ(apply({raise}, "dom").status, 200);
  EXPECT_EQ(apply({{{"kind", "Project"}, {"name", "fresh"}, {"domain", "corp"}},
                   binding("fresh", "manager", {{"project", "fresh"}, {"users", {"ada"}}})},
                  "dom")
                .status,
            200);
  EXPECT_EQ(apply({{{"kind", "Pool"}, {"name", "mine"}}}, "dom").code(), "role_needed");
  // Whom tasks run as is the cluster's to say.
  const Json mapped{{"kind", "User"}, {"name", "new"}, {"domain", "corp"}, {"linux_user", "root"}};
  EXPECT_EQ(apply({mapped}, "dom").code(), "role_needed");
}

TEST_F(RolesApi, ManagersActOnTheJobsOfTheirProjectAndMembersLook) {
  ASSERT_EQ(submit("ada", "vision").body.at("id"), 1);
  const auto cancel = [&](const std::string& as) {
    return call(as, "POST", "/v1/jobs/1/cancel").code();
  };
  EXPECT_EQ(cancel("bob"), "not_yours");
  EXPECT_EQ(cancel("aud"), "not_yours");
  EXPECT_EQ(call("bob", "GET", "/v1/jobs/1/logs?rank=9").code(), "job_not_started");
  EXPECT_EQ(call("eve", "GET", "/v1/jobs/1/logs").code(), "not_yours");
  EXPECT_EQ(cancel("max"), "");
}

TEST_F(RolesApi, APriorityAboveTheSettingsIsTheAdministratorsToGive) {
  const auto submit_at = [&](const std::string& as, std::int64_t priority) {
    Json body = small_job_body();
    body["priority"] = priority;
    if (!as.empty()) body["project"] = "vision";
    return call(as, "POST", "/v1/jobs", body);
  };
  const Answer refused = submit_at("ada", 3);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.code(), "admin_only");
  EXPECT_NE(refused.response.body.find("priority 3 is above 0"), std::string::npos);
  EXPECT_EQ(submit_at("max", 3).code(), "admin_only");
  EXPECT_EQ(submit_at("ada", -3).status, 201);
  EXPECT_EQ(submit_at("", 3).status, 201);
  apply(
      {{"kind", "Settings"}, {"name", "night"}, {"project", "vision"}, {"job", {{"priority", 2}}}});
  const Answer given = submit("ada", "vision");
  ASSERT_EQ(given.status, 201) << given.response.body;
  const std::string job = "/v1/jobs/" + std::to_string(given.body.at("id").get<std::int64_t>());
  EXPECT_EQ(call("ada", "GET", job).body.at("priority"), 2);
  EXPECT_EQ(submit_at("ada", 1).status, 201);
  EXPECT_EQ(submit_at("ada", 3).status, 403);
}

TEST_F(RolesApi, JobsOfOthersAreSeenAsTheClusterSays) {
  ASSERT_EQ(submit("ada", "vision").status, 201);
  ASSERT_EQ(call("ada", "POST", "/v1/jobs", small_job_body()).status, 201);
  EXPECT_EQ(jobs_seen("eve"), 2U);
  ASSERT_EQ(call("", "PUT", "/v1/objects/cluster/cluster", {{"job_visibility", "members"}}).status,
            200);
  EXPECT_EQ(jobs_seen("ada"), 2U);
  EXPECT_EQ(jobs_seen("bob"), 1U);
  EXPECT_EQ(jobs_seen("eve"), 0U);
  EXPECT_EQ(jobs_seen("aud"), 2U);
  EXPECT_EQ(call("eve", "GET", "/v1/jobs/1").code(), "not_yours");
  EXPECT_EQ(call("eve", "GET", "/v1/jobs/1/why").code(), "not_yours");
  const Answer told = call("eve", "GET", "/v1/events");
  for (const Json& event : told.body.at("events")) {
    EXPECT_FALSE(event.contains("job")) << event;
  }
}

TEST_F(RolesApi, AReasonNamesTheJobsThatItsReaderMaySee) {
  ASSERT_EQ(submit("ada", "vision").body.at("id"), 1);
  constexpr const char* kNamed = "waits for job 1 (job) (afterok)";
  const auto waits_for = [&](const std::string& as) {
    Json body = small_job_body();
    body["dependencies"] = {{{"kind", "afterok"}, {"job", 1}}};
    return call(as, "POST", "/v1/jobs?dry_run=1", body).body.dump();
  };
  EXPECT_NE(waits_for("eve").find(kNamed), std::string::npos) << waits_for("eve");
  call("", "PUT", "/v1/objects/cluster/cluster", {{"job_visibility", "members"}});
  EXPECT_NE(waits_for("eve").find("waits for job 1 (afterok)"), std::string::npos);
  EXPECT_NE(waits_for("bob").find(kNamed), std::string::npos);
}

TEST_F(RolesApi, TheLogIsSeenByRole) {
  const auto kinds = [&](const std::string& as, const std::string& more = "") {
    std::multiset<std::string> found;
    const Answer answer = call(as, "GET", "/v1/events?limit=1000" + more);
    for (const Json& event : answer.body.at("events")) found.insert(event.at("kind"));
    return found;
  };
  call("ada", "POST", "/v1/keys", Json{{"name", "ci"}});
  EXPECT_EQ(kinds("ada").count("KeyIssued"), 1U);
  EXPECT_EQ(kinds("eve").count("KeyIssued"), 0U);
  EXPECT_EQ(kinds("aud").count("KeyIssued"), 1U);
  EXPECT_EQ(call("eve", "GET", "/v1/events?audit=1").code(), "role_needed");
  EXPECT_EQ(kinds("aud", "&audit=1").count("KeyIssued"), 1U);
  EXPECT_EQ(kinds("aud", "&audit=1").count("ControllerStarted"), 0U);
}

TEST_F(RolesApi, TheAuditIsReadBackwards) {
  for (const char* name : {"one", "two", "three"})
    call("ada", "POST", "/v1/keys", {{"name", name}});
  const auto page = [&](const std::string& more) {
    return call("aud", "GET", "/v1/events?audit=1&order=newest" + more).body;
  };
  const std::string of_ada = "&user=ada&kind=KeyIssued&limit=2";
  const Json first = page(of_ada);
  ASSERT_EQ(first.at("events").size(), 2U) << first;
  EXPECT_EQ(first.at("events").at(0).at("data").at("key").at("name"), "three");
  EXPECT_EQ(first.at("events").at(1).at("data").at("key").at("name"), "two");
  const Json second = page(of_ada + "&after=" + first.at("next").dump());
  ASSERT_EQ(second.at("events").size(), 1U) << second;
  EXPECT_EQ(second.at("events").at(0).at("data").at("key").at("name"), "one");
  EXPECT_TRUE(second.at("next").is_null());
  EXPECT_TRUE(page("&user=nobody").at("events").empty());
  Json forwards = call("aud", "GET", "/v1/events?audit=1").body.at("events");
  std::reverse(forwards.begin(), forwards.end());
  EXPECT_EQ(page("").at("events"), forwards);
  EXPECT_EQ(call("aud", "GET", "/v1/events?order=oldest").code(), "bad_parameter");
  EXPECT_EQ(call("eve", "GET", "/v1/events?audit=1&order=newest").code(), "role_needed");
}

TEST_F(RolesApi, AStreamShowsNoMoreThanItsReaderMaySeeNow) {
  call("", "PUT", "/v1/objects/cluster/cluster", {{"job_visibility", "members"}});
  std::string seen;
  wire::Request request;
  request.method = "GET";
  request.target = "/v1/events";
  request.headers = {{"Accept", "text/event-stream"},
                     {"Authorization", "Bearer " + tokens.at("bob")}};
  bool over = false;
  wire::StreamCallbacks callbacks;
  callbacks.on_line = [&](std::string_view line) { seen += line; };
  callbacks.on_closed = [&](const Error&) { over = true; };
  const auto reading = live.client->open_stream(std::move(request), std::move(callbacks));
  submit("ada", "vision");
  ASSERT_TRUE(live.until([&] { return seen.find("JobSubmitted") != std::string::npos; }));
  call("", "DELETE", "/v1/objects/binding/team-vision");
  seen.clear();
  submit("max", "vision");
  call("", "PUT", "/v1/objects/queue/late", Json::object());
  ASSERT_TRUE(live.until([&] { return seen.find("late") != std::string::npos; }));
  EXPECT_EQ(seen.find("JobSubmitted"), std::string::npos) << seen;
  call("", "PUT", "/v1/objects/user/bob", {{"disabled", true}});
  EXPECT_TRUE(live.until([&] { return over; }));
}

TEST_F(RolesApi, ManagersKeepTheKeysOfServiceAccounts) {
  EXPECT_EQ(apply({{{"kind", "User"}, {"name", "robot"}, {"service_of", "vision"}}}, "max").status,
            200);
  const Json body{{"name", "nightly"}, {"user", "robot"}};
  EXPECT_EQ(call("ada", "POST", "/v1/keys", body).code(), "admin_only");
  const Answer made = call("max", "POST", "/v1/keys", body);
  EXPECT_EQ(made.status, 201) << made.response.body;
  EXPECT_EQ(call("max", "GET", "/v1/keys?user=robot").body.at("keys").size(), 1U);
  EXPECT_EQ(call("max", "GET", "/v1/keys?user=robot&labels=a=b").body.at("keys").size(), 1U)
      << "keys have no labels to ask for";
  EXPECT_EQ(call("ada", "GET", "/v1/keys?user=robot").body.at("keys").size(), 0U);
}

TEST_F(RolesApi, FormerWaysBecomeBindings) {
  const Answer project = call("", "PUT", "/v1/objects/project/old", {{"users", {"bob", "ada"}}});
  EXPECT_NE(project.body.at("warnings").dump().find("old.members"), std::string::npos);
  const Answer made = call("", "GET", "/v1/objects/binding/old.members");
  EXPECT_EQ(made.body.at("users"), (Json{"ada", "bob"}));
  EXPECT_EQ(submit("eve", "old").code(), "not_in_project");
  call("", "PUT", "/v1/objects/project/old", {{"users", Json::array()}});
  EXPECT_EQ(submit("eve", "old").status, 201);
  call("", "PUT", "/v1/objects/user/eve", {{"admin", true}});
  EXPECT_EQ(call("eve", "GET", "/v1/me").body.at("admin"), true);
  apply({{{"kind", "User"}, {"name", "eve"}, {"admin", false}}});
  EXPECT_EQ(call("eve", "GET", "/v1/me").body.at("admin"), false);
}

TEST(FormerMembers, OfAFormerLogBecomeBindingsAtTheStart) {
  store::MemoryStore store;
  {
    LiveApi live(store, policies::standard_policies());
    Project project;
    project.name = "old";
    project.users = {"bob", "ada"};
    controller::Input input;
    input.events.push_back({ObjectApplied{Declared(project)}, {}});
    std::atomic<bool> done = false;
    live.controller.submit(std::move(input), [&](const auto& committed) {
      EXPECT_TRUE(committed.ok());
      done = true;
    });
    ASSERT_TRUE(live.until([&] { return done.load(); }));
    EXPECT_EQ(live.call("GET", "/v1/objects/binding/old.members").status, 404);
  }
  LiveApi live(store, policies::standard_policies());
  Answer made;
  ASSERT_TRUE([&] {
    for (int i = 0; i < 1'000 && made.status != 200; ++i) {
      made = live.call("GET", "/v1/objects/binding/old.members");
    }
    return made.status == 200;
  }());
  EXPECT_EQ(made.body.at("users"), (Json{"ada", "bob"}));
  EXPECT_FALSE(live.call("GET", "/v1/objects/project/old").body.contains("users"));
}

TEST_F(RolesApi, PeopleSeeWhatConcernsThem) {
  EXPECT_EQ(names("eve", "/v1/objects?kind=project"), Names{});
  EXPECT_EQ(names("ada", "/v1/objects?kind=project"), Names{"vision"});
  EXPECT_EQ(names("aud", "/v1/objects?kind=project"), (Names{"vision", "speech"}));
  EXPECT_EQ(names("ada", "/v1/objects?kind=binding"), (Names{"team-vision", "max-vision"}));
  EXPECT_EQ(names("eve", "/v1/objects?kind=group"), Names{});
  EXPECT_EQ(names("ada", "/v1/objects?kind=group"), Names{"team"});
}

TEST_F(RolesApi, AQuotaSaysWhatIsLeftAndWhoMayRaiseIt) {
  apply({{{"kind", "Project"}, {"name", "vision"}, {"limits", {{"cores", 3}}}},
         {{"kind", "Limit"}, {"name", "ada"}, {"limits", {{"jobs_waiting", 5}}}}});
  ASSERT_EQ(submit("ada", "vision").status, 201);
  const Json quota = call("ada", "GET", "/v1/quota").body.at("quota");
  EXPECT_EQ(quota.at(0), (Json{{"level", "user"},
                               {"name", "ada"},
                               {"resource", "jobs_waiting"},
                               {"used", 1},
                               {"limit", 5},
                               {"raised_by", "an administrator of the cluster"}}));
  EXPECT_EQ(quota.at(1),
            (Json{{"level", "project"},
                  {"name", "vision"},
                  {"resource", "cores"},
                  {"used", 1},
                  {"asked", 1},
                  {"limit", 3},
                  {"raised_by", "an administrator of domain corp, or of the cluster"}}));
  EXPECT_EQ(call("eve", "GET", "/v1/quota?user=ada").code(), "role_needed");
  EXPECT_EQ(call("eve", "GET", "/v1/quota?project=vision").code(), "no_such_project");
  EXPECT_EQ(call("aud", "GET", "/v1/quota?user=ada").status, 200);
  Json body = small_job_body();
  body["project"] = "vision";
  body["cores"] = 4;
  const Answer refused = call("ada", "POST", "/v1/jobs", body);
  EXPECT_EQ(refused.code(), "project_quota");
  const std::string said = refused.body.at("detail");
  EXPECT_NE(said.find("cores: 1 used, 4 asked, limit 3, over by 2"), std::string::npos) << said;
  EXPECT_NE(said.find("domain corp"), std::string::npos) << said;
}

TEST_F(RolesApi, LimitsOfDomainsOfOneJobAndOfAMonthAreShownAndHold) {
  apply({{{"kind", "Domain"}, {"name", "corp"}, {"limits", {{"cores", 2}}}},
         {{"kind", "Limit"},
          {"name", "*"},
          {"limits", {{"gpu_hours_month", 10}, {"job", {{"cores", 1}, {"time_limit", "1h"}}}}}}});
  const Json quota = call("ada", "GET", "/v1/quota").body.at("quota");
  const Json month = quota.at(0);
  EXPECT_EQ(month.at("resource"), "gpu_ms_month");
  EXPECT_EQ(month.at("limit"), 10 * 3'600'000);
  EXPECT_GT(month.at("ends_at_us"), 0);
  EXPECT_EQ(quota.at(1).at("resource"), "job_cores");
  EXPECT_EQ(quota.at(2).at("resource"), "job_time_limit_s");
  EXPECT_EQ(quota.at(3), (Json{{"level", "domain"},
                               {"name", "corp"},
                               {"resource", "cores"},
                               {"used", 0},
                               {"limit", 2},
                               {"raised_by", "an administrator of the cluster"}}));
  const auto refused = [&](const Json& more) {
    Json body = small_job_body();
    body["project"] = "vision";
    body.update(more);
    const Answer answer = call("ada", "POST", "/v1/jobs", body);
    return fmt::format("{} {}", answer.code(),
                       answer.status < 400 ? "" : answer.body.at("detail").get<std::string>());
  };
  EXPECT_EQ(refused({{"time_limit", nullptr}}),
            "time_limit_needed jobs of user ada run for 3600 s at most, and this one has no time "
            "limit: give it one (--time), or have an administrator of the cluster raise it");
  EXPECT_EQ(refused({{"cores", 2}, {"time_limit", "1h"}}),
            "job_limit user ada may have 1 cores in one job and this one asks for 2, over by 1: "
            "ask for less, or have an administrator of the cluster raise it");
  EXPECT_TRUE(refused({{"time_limit", "2h"}})
                  .starts_with("job_limit jobs of user ada run for 3600 s"
                               " at most, and the time limit"));
  EXPECT_EQ(refused({{"time_limit", "1h"}}), " ");
  EXPECT_EQ(refused({{"time_limit", "1h"}}), " ");
  EXPECT_EQ(
      refused({{"time_limit", "1h"}}),
      "domain_quota domain \"corp\" would be over its quota (cores: 2 used, 1 asked, limit 2, "
      "over by 1): cancel jobs of it, ask for less, or have an administrator of the cluster "
      "raise it");
}

TEST_F(RolesApi, OneObjectIsWarnedAboutAsManyAre) {
  const Json members{{"users", {"ada", "adda"}}};
  const Answer one = call("", "PUT", "/v1/objects/group/staff?dry_run=1", members);
  ASSERT_EQ(one.status, 200) << one.response.body;
  ASSERT_EQ(one.body.at("warnings").size(), 1U);
  Json group{{"kind", "Group"}, {"name", "staff"}};
  group.update(members);
  EXPECT_EQ(apply(group).body.at("changes").at(0).at("warnings"), one.body.at("warnings"));
  EXPECT_EQ(call("", "PUT", "/v1/objects/group/staff", members).body.at("change"), "none");
}

TEST_F(RolesApi, WhatIsWrongIsNamed) {
  const auto code = [&](const Json& object) { return apply({object}, "root").code(); };
  tokens["root"] = live.admin_token;
  EXPECT_EQ(code(binding("x", "boss", {})), "bad_value");
  const Answer near = apply({binding("x", "manger", {})}, "root");
  EXPECT_NE(near.body.at("detail").get<std::string>().find("did you mean \"manager\"?"),
            std::string::npos);
  EXPECT_EQ(code({{"kind", "Binding"}, {"name", "x"}}), "missing_field");
  EXPECT_EQ(code(binding("x", "member", {{"project", "visoin"}})), "project_unknown");
  EXPECT_EQ(code(binding("x", "member", {{"groups", {"teem"}}})), "group_unknown");
  EXPECT_EQ(code(binding("x", "member", {{"project", "vision"}, {"domain", "corp"}})),
            "given_twice");
  EXPECT_EQ(code({{"kind", "Group"}, {"name", "team"}, {"groups", {"team"}}}), "group_circle");
  EXPECT_EQ(call("", "DELETE", "/v1/objects/domain/corp").code(), "domain_has_projects");
}

}  // namespace
}  // namespace dove::server
