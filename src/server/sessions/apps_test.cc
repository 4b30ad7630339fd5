// Apps that a site declares, sessions beside a job, and sessions that are stopped: through the API.
#include <gtest/gtest.h>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

Json app_job(const Json& app = {{"socket", "app"}}) {
  return Json{{"command", {"board"}}, {"app", app}};
}

class AppsTest : public WithApi {
 protected:
  AppsTest() { agent.connect(); }
  std::string user(const std::string& name) {
    return live.call("POST", "/v1/users/" + name + "/token?create=1").body.at("token");
  }
  Answer declare(const std::string& name, const Json& body) {
    return live.call("PUT", "/v1/objects/app/" + name, body);
  }
  Answer as(const std::string& token, const char* method, const std::string& target,
            const Json& body = nullptr) {
    return live.call(method, target, body, {}, &token);
  }
  void start(std::uint64_t job, int attempt = 1) {
    ASSERT_TRUE(live.until([&] { return live.state(job) == "preparing"; }));
    agent.tell("prepared", job, attempt);
    agent.tell("started", job, attempt);
    ASSERT_TRUE(live.until([&] { return live.state(job) == "running"; }));
  }
  Json session(const std::string& name) {
    Json body = small_job_body(name);
    body["app"] = {{"name", name}, {"socket", "app"}};
    return body;
  }

  FakeAgent agent{live, "n1"};
};

TEST_F(AppsTest, WhatAnAppLacksIsNamedWhereItIsDeclared) {
  for (const auto& [job, code, field] : std::vector<std::tuple<Json, std::string, std::string>>{
           {Json{{"command", {"x"}}}, "app_without_port", "job.app"},
           {app_job(Json::object()), "app_without_port", "job.app"},
           {app_job(Json{{"port", 0}}), "out_of_range", "job.app.port"},
           {Json{{"app", {{"port", 80}}}}, "missing_field", "job.command"},
           {Json{{"app", {{"port", 80}}}, {"comand", {"x"}}}, "unknown_field", "job.comand"}}) {
    const Answer answer = declare("bad", Json{{"job", job}});
    EXPECT_EQ(answer.status, 400) << answer.response.body;
    EXPECT_EQ(answer.code(), code) << answer.response.body;
    EXPECT_EQ(answer.body.value("field", ""), field) << answer.response.body;
  }
  EXPECT_EQ(declare("bad", Json{{"job", app_job()}, {"project", "none"}}).code(), "level_unknown");
  EXPECT_EQ(declare("bad", Json{{"job", app_job()}, {"domain", "none"}}).code(), "level_unknown");
}

TEST_F(AppsTest, WhatFitsNowhereIsAWarning) {
  Json job = app_job();
  EXPECT_EQ(declare("board", Json{{"job", job}}).body.at("warnings"), Json::array());
  job["cores"] = 100'000;
  const Answer answer = declare("board", Json{{"job", job}});
  ASSERT_EQ(answer.status, 200) << answer.response.body;
  EXPECT_EQ(answer.body.at("warnings").size(), 1u) << answer.response.body;
  job["queue"] = "nowhere";
  const Json warnings = declare("board", Json{{"job", job}}).body.at("warnings");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings.at(0).get<std::string>().find("would be refused: there is no queue"),
            std::string::npos);
}

TEST_F(AppsTest, MembersSeeTheAppsOfTheirProjectAndDomain) {
  const std::string ada = user("ada");
  const std::string bob = user("bob");
  ASSERT_EQ(live.call("PUT", "/v1/objects/domain/corp", Json{{"title", "Corp"}}).status, 200);
  ASSERT_EQ(live.call("PUT", "/v1/objects/project/nlp", Json{{"domain", "corp"}}).status, 200);
  const Json binding{{"role", "member"}, {"users", {"ada"}}, {"project", "nlp"}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/binding/b", binding).status, 200);
  ASSERT_EQ(declare("all", Json{{"job", app_job()}}).status, 200);
  ASSERT_EQ(declare("of-project", Json{{"job", app_job()}, {"project", "nlp"}}).status, 200);
  ASSERT_EQ(declare("of-domain", Json{{"job", app_job()}, {"domain", "corp"}}).status, 200);
  const auto names = [&](const std::string& token) {
    std::vector<std::string> out;
    const Answer page = as(token, "GET", "/v1/objects?kind=app");
    for (const Json& app : page.body.at("objects")) {
      out.push_back(app.at("name"));
    }
    return out;
  };
  EXPECT_EQ(names(ada), (std::vector<std::string>{"all", "of-domain", "of-project"}));
  EXPECT_EQ(names(bob), (std::vector<std::string>{"all"}));
  EXPECT_EQ(as(bob, "GET", "/v1/objects/app/of-project").status, 404);
  // Administrators of the project declare its apps; members do not.
  EXPECT_EQ(
      as(ada, "PUT", "/v1/objects/app/own", Json{{"job", app_job()}, {"project", "nlp"}}).code(),
      "role_needed");
}

TEST_F(AppsTest, WhoeverStartsAnAppReadsTheJobThatItIs) {
  const std::string ada = user("ada");
  user("bob");
  ASSERT_EQ(live.call("PUT", "/v1/objects/project/nlp", Json::object()).status, 200);
  const Json binding{{"role", "member"}, {"users", {"bob"}}, {"project", "nlp"}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/binding/b", binding).status, 200);
  ASSERT_EQ(declare("board", Json{{"job", app_job()}, {"title", "Ours"}}).status, 200);
  ASSERT_EQ(declare("secret", Json{{"job", app_job()}, {"project", "nlp"}}).status, 200);
  ASSERT_EQ(declare("code", Json{{"job", app_job()}}).status, 200);
  std::map<std::string, Json> apps;
  const Answer page = as(ada, "GET", "/v1/apps");
  ASSERT_EQ(page.status, 200) << page.response.body;
  for (const Json& app : page.body.at("apps")) apps[app.at("name")] = app;
  EXPECT_EQ(apps.count("secret"), 0U);
  EXPECT_EQ(apps.at("board").at("title"), "Ours");
  EXPECT_EQ(apps.at("board").at("job"), (Json{{"command", {"board"}},
                                              {"name", "board"},
                                              {"app", {{"name", "board"}, {"socket", "app"}}}}));
  EXPECT_FALSE(apps.at("code").at("built_in").get<bool>()) << "the site's own wins";
  for (const char* name : {"desktop", "notebook", "tensorboard"}) {
    const Json& app = apps.at(name);
    EXPECT_TRUE(app.at("built_in").get<bool>());
    const Answer tried = as(ada, "POST", "/v1/jobs?dry_run=1", app.at("job"));
    EXPECT_EQ(tried.status, 200) << tried.response.body;
  }
  EXPECT_EQ(apps.at("notebook").at("job").at("command").at(4), "jupyter");
  EXPECT_EQ(apps.at("notebook").at("program_at"), 4);
}

TEST_F(AppsTest, AppsAreReadAPageAtATime) {
  const std::string ada = user("ada");
  user("bob");
  ASSERT_EQ(live.call("PUT", "/v1/objects/project/nlp", Json::object()).status, 200);
  const Json binding{{"role", "member"}, {"users", {"bob"}}, {"project", "nlp"}};
  ASSERT_EQ(live.call("PUT", "/v1/objects/binding/b", binding).status, 200);
  for (const char* name : {"board", "zeppelin"}) {
    ASSERT_EQ(declare(name, Json{{"job", app_job()}}).status, 200);
  }
  // Whoever may not start the site's own has the one that is built in.
  ASSERT_EQ(declare("notebook", Json{{"job", app_job()}, {"project", "nlp"}}).status, 200);
  std::vector<std::string> names;
  Json next = "";
  for (int pages = 0; next.is_string() && pages < 10; ++pages) {
    const Answer page = as(ada, "GET", "/v1/apps?limit=2&after=" + next.get<std::string>());
    ASSERT_EQ(page.status, 200) << page.response.body;
    EXPECT_LE(page.body.at("apps").size(), 2U);
    for (const Json& app : page.body.at("apps")) {
      names.push_back(app.at("name"));
      EXPECT_TRUE(app.at("name") != "notebook" || app.at("built_in").get<bool>());
    }
    next = page.body.at("next");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"board", "code", "desktop", "notebook", "tensorboard",
                                             "zeppelin"}));
  EXPECT_EQ(as(ada, "GET", "/v1/apps?limit=0").status, 400);
  const auto found = [&](const char* filter) {
    std::vector<std::string> apps;
    const Answer page = as(ada, "GET", std::string("/v1/apps?") + filter);
    for (const Json& app : page.body.at("apps")) apps.push_back(app.at("name"));
    return apps;
  };
  EXPECT_EQ(found("name=code,zeppelin,none"), (std::vector<std::string>{"code", "zeppelin"}));
  ASSERT_EQ(declare("board", Json{{"labels", {{"team", "vision"}}}}).status, 200);
  EXPECT_EQ(found("labels=team%3Dvision"), (std::vector<std::string>{"board"}));
}

TEST_F(AppsTest, AStoppedSessionWaitsAndStartsAgainAsItself) {
  const std::uint64_t job = live.submit(session("lab"));
  const std::string path = "/v1/jobs/" + std::to_string(job);
  start(job);
  user("bob");
  ASSERT_EQ(live.call("POST", path + "/shares", Json{{"users", {"bob"}}}).status, 200);
  const Answer stopped = live.call("POST", path + "/requeue", Json{{"hold", true}});
  ASSERT_EQ(stopped.status, 200) << stopped.response.body;
  EXPECT_EQ(stopped.body.at("changed"), 1);
  EXPECT_EQ(agent.wait_line("stop").value("reason", ""), "requeued");
  agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  ASSERT_TRUE(live.until([&] { return live.state(job) == "held"; }));
  const Json why = live.call("GET", path + "/why").body;
  EXPECT_NE(why.at("reasons").at(0).value("text", "").find("stopped by its user; `dove start`"),
            std::string::npos)
      << why;
  EXPECT_EQ(live.call("GET", path).body.at("shared_with"), Json({"bob"}));
  ASSERT_EQ(live.call("POST", path + "/release").status, 200);
  start(job, 2);
  EXPECT_EQ(live.call("POST", path + "/requeue", Json{{"hold", 1}}).status, 400);
}

TEST_F(AppsTest, ASessionBesideAJobEndsWithIt) {
  const std::uint64_t main = live.submit(small_job_body("train"));
  start(main);
  Json body = session("board");
  body["side_of"] = main;
  const std::uint64_t side = live.submit(body);
  EXPECT_EQ(live.call("GET", "/v1/jobs/" + std::to_string(side)).body.at("parent"), main);
  start(side);
  agent.tell("ended", main, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  ASSERT_TRUE(live.until([&] { return live.state(main) == "completed"; }));
  EXPECT_EQ(agent.wait_line("stop").value("reason", ""), "cancelled");
  agent.tell("ended", side, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}});
  EXPECT_TRUE(live.until([&] { return live.state(side) == "cancelled"; }));
}

TEST_F(AppsTest, OnlyASessionGoesBesideAnOwnJob) {
  const std::uint64_t main = live.submit(small_job_body("train"));
  Json body = small_job_body("x");
  body["side_of"] = main;
  EXPECT_EQ(live.call("POST", "/v1/jobs", body).code(), "no_app");
  const std::string ada = user("ada");
  body = session("board");
  body["side_of"] = main;
  EXPECT_EQ(as(ada, "POST", "/v1/jobs", body).code(), "not_yours");
  body["side_of"] = "train";
  EXPECT_EQ(live.call("POST", "/v1/jobs", body).code(), "wrong_type");
  Json array = small_job_body("many");
  array["array"] = "0-1";
  body["side_of"] = live.submit(array);
  EXPECT_EQ(live.call("POST", "/v1/jobs", body).code(), "no_side_of_array");
}

TEST_F(AppsTest, MailOfAJobThatNobodySendsIsAWarning) {
  Json body = small_job_body("train");
  body["mail"] = {{"about", {"job_ended"}}, {"to", "ada@example.org"}};
  const Answer answer = live.call("POST", "/v1/jobs", body);
  ASSERT_EQ(answer.status, 201) << answer.response.body;
  EXPECT_NE(answer.response.body.find("this cluster sends no mail"), std::string::npos);
  const std::string path = "/v1/jobs/" + answer.body.at("id").dump();
  EXPECT_FALSE(live.call("GET", path).body.contains("mail_to"));
  body["mail_to"] = "ada@example.org";
  EXPECT_EQ(live.call("POST", "/v1/jobs", body).code(), "given_twice");
}

}  // namespace
}  // namespace dove::server
