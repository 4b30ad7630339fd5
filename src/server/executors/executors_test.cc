// What an executor's adapter may say, and when it is answered.
#include "codec/quantity.h"
#include "server/executors/executors_fixture.h"

namespace dove::server {
namespace {

TEST_F(ExecutorsTest, OnlyItsServiceAccountSpeaksForIt) {
  const auto code = [&](const std::string& token, const char* name = "slurm") {
    const std::string target = std::string("/v1/executors/") + name + "/sync";
    return live.call("POST", target, said(), {}, &token).code();
  };
  EXPECT_EQ(code(stranger), "not_its_account");
  EXPECT_EQ(code(live.admin_token), "not_its_account");
  EXPECT_EQ(code(account, "k8s"), "no_such_executor");
  EXPECT_EQ(code(account), "");
  live.call("PUT", "/v1/objects/executor/slurm", {{"service_account", ""}});
  EXPECT_EQ(code(account), "not_its_account");
}

TEST_F(ExecutorsTest, ANodeWithoutAnAgentIsTheExecutors) {
  const auto told = [&](Json inventory) {
    return sync(said({{"nodes", {{{"name", "n2"}, {"state", "up"}, {"inventory", inventory}}}}}));
  };
  const Answer wrong = told({{"devices", 3}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body.at("field"), "nodes[0].inventory") << wrong.body;
  const Json inventory = codec::inventory_json(controller::small_inventory());
  EXPECT_EQ(told(inventory).status, 200);
  EXPECT_EQ(told(inventory).status, 200);
  const Json n2 = live.call("GET", "/v1/nodes/n2").body;
  EXPECT_EQ(n2.at("backend"), "slurm");
  EXPECT_EQ(n2.at("state"), "ready") << n2;
  EXPECT_EQ(live.call("POST", "/v1/nodes/n2/action", {{"action", "reboot"}}).code(), "no_agent");
  EXPECT_EQ(live.call("DELETE", "/v1/nodes/n2").code(), "no_agent");
  live.call("PUT", "/v1/objects/executor/slurm", {{"nodes", {"n1"}}});
  EXPECT_EQ(live.call("GET", "/v1/nodes/n2").body.at("removed"), true);
}

TEST_F(ExecutorsTest, ItsAccountAndQueuesAreThere) {
  const auto code = [&](const Json& executor) {
    return live.call("PUT", "/v1/objects/executor/k8s", executor).code();
  };
  EXPECT_EQ(code({{"nodes", {"n1"}}, {"service_account", "nobody"}}), "user_unknown");
  EXPECT_EQ(code({{"nodes", {"n1"}}, {"queues", {{"lab", "nowhere"}}}}), "queue_unknown");
  EXPECT_EQ(code({{"service_account", "slurm-1"}}), "missing_field");
  EXPECT_EQ(code({{"nodes", {"n1"}}, {"queues", {{"lab", "default"}}}}), "");
  EXPECT_EQ(live.call("DELETE", "/v1/objects/executor/k8s").status, 204);
  EXPECT_EQ(live.call("DELETE", "/v1/objects/executor/k8s").code(), "no_such_executor");
}

TEST_F(ExecutorsTest, TheNodeTakesNothingUntilItsExecutorIsHeard) {
  EXPECT_EQ(node().at("state"), "drained");
  EXPECT_EQ(sync(said()).status, 200);
  EXPECT_EQ(node().at("state"), "ready");
  EXPECT_EQ(node().at("executors").at(0).at("contact"), "answering");
  sync(said({{"nodes", {{{"name", "n1"}, {"state", "drained"}, {"reason", "fan"}}}}}));
  EXPECT_EQ(node().at("state"), "drained");
  EXPECT_EQ(node().at("executors").at(0).at("why"), "fan");
}

TEST_F(ExecutorsTest, WhatWasSeenBeforeThisControllerBeganIsNotTaken) {
  Json old = said({{"allocations", {running("7")}}});
  for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{7}}) {
    old["seen"] = before;
    old["number"] = ++number;
    EXPECT_EQ(sync(old).status, 200);
    EXPECT_EQ(node().at("gpus_free"), 2);
  }
  EXPECT_EQ(node().at("state"), "drained") << "it has not been told anything yet";
}

TEST_F(ExecutorsTest, WhatItRunsIsShownAndTaken) {
  EXPECT_EQ(sync(said({{"allocations", {running("7")}}})).status, 200);
  const Json shown = node();
  EXPECT_EQ(shown.at("gpus_free"), 1);
  EXPECT_EQ(shown.at("cores_free"), 2);
  const Json foreign = shown.at("executors").at(0).at("foreign").at(0);
  EXPECT_EQ(foreign.at("id"), "7");
  EXPECT_EQ(foreign.at("user"), "grace");
  EXPECT_EQ(sync(said({{"complete", false}})).status, 200);
  EXPECT_EQ(node().at("gpus_free"), 1) << "nobody said that it has ended";
  EXPECT_EQ(sync(said()).status, 200);
  EXPECT_EQ(node().at("gpus_free"), 2);
}

TEST_F(ExecutorsTest, ItsReservationsAreShownAndItsOwn) {
  Json course = {{"name", "course"},
                 {"nodes", {"n[1-9]"}},
                 {"starts_at", "2030-01-01T00:00:00Z"},
                 {"ends_at", "2030-01-02T00:00:00Z"}};
  ASSERT_EQ(sync(said({{"reservations", {course}}})).status, 200);
  const auto shown = [&] {
    return live.call("GET", "/v1/objects?kind=reservation").body.at("objects");
  };
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(shown().at(0).at("name"), "slurm:course");
  EXPECT_EQ(shown().at(0).at("nodes"), Json({"n1"}));
  EXPECT_EQ(live.call("DELETE", "/v1/objects/reservation/slurm:course").status, 409);
  const Answer labelled =
      live.call("PUT", "/v1/objects/reservation/slurm:course", {{"labels", {{"team", "vision"}}}});
  ASSERT_EQ(labelled.status, 200) << labelled.response.body;
  const Json head = live.call("GET", "/v1/objects").body.at("log_head");
  ASSERT_EQ(sync(said({{"reservations", {course}}})).status, 200);
  EXPECT_EQ(shown().at(0).at("labels"), Json({{"team", "vision"}}));
  EXPECT_EQ(live.call("GET", "/v1/objects").body.at("log_head"), head) << "no event of it";
  course["ends_at"] = course["starts_at"];
  EXPECT_EQ(sync(said({{"reservations", {course}}})).status, 400);
  ASSERT_EQ(sync(said()).status, 200);
  EXPECT_TRUE(shown().empty());
}

TEST_F(ExecutorsTest, MetricsCountWhatItRunsAndHolds) {
  Json all = {{"allocations", {running("7")}}};
  sync(said(all));
  live.submit(small_job_body());
  agent.wait_line("launch");
  const auto text = [&] { return live.call("GET", "/metrics").response.body; };
  EXPECT_NE(text().find("dove_executor_answers{executor=\"slurm\"} 1\n"), std::string::npos);
  EXPECT_NE(text().find("dove_executor_nodes{executor=\"slurm\",state=\"up\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text().find("dove_executor_placeholders{executor=\"slurm\",stage=\"wanted\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text().find("dove_executor_foreign_devices{executor=\"slurm\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text().find("dove_executor_foreign_cores{executor=\"slurm\"} 2\n"), std::string::npos)
      << text();
  all["complete"] = false;
  sync(said(all));
  EXPECT_NE(text().find("dove_executor_answers{executor=\"slurm\"} 0\n"), std::string::npos);
}

TEST_F(ExecutorsTest, MemoryThatTwoHoldIsNotLessThanNone) {
  Json more = running("1299");
  more["memory_bytes"] = std::int64_t{1} << 50;
  ASSERT_EQ(sync(said({{"allocations", {more}}})).status, 200);
  EXPECT_EQ(node().at("memory_free_bytes"), 0);
}

TEST_F(ExecutorsTest, WhatIsSaidTwiceIsWrittenOnce) {
  sync(said({{"allocations", {running("7")}}}));
  const std::uint64_t before = head();
  EXPECT_EQ(sync(said({{"allocations", {running("7")}}})).status, 200);
  EXPECT_EQ(kinds_after(before), std::vector<std::string>{});
}

TEST_F(ExecutorsTest, WhatEndedWhileItWasAwayIsAskedForAndTakenOnce) {
  ASSERT_LT(
      live.call("PUT", "/v1/objects/executor/slurm", {{"queues", {{"lab", "default"}}}}).status,
      300);
  EXPECT_TRUE(sync(said()).body.at("unwatched").is_null()) << "nobody knows of a time before";
  // Such a time begins with a whole second, as the accounting has them.
  bool is_next = false;
  const wire::Timer second = live.loop.after(std::chrono::seconds(1), [&] { is_next = true; });
  ASSERT_TRUE(live.until([&] { return is_next; }));
  incarnation = "a2";
  number = 0;
  const Json unwatched = sync(said()).body.at("unwatched");
  ASSERT_TRUE(unwatched.is_object());
  const Json job{{"id", "7"},     {"account", "lab"},   {"started_at", unwatched.at("from")},
                 {"cores", 2},    {"gpus_milli", 1000}, {"ended_at", unwatched.at("until")},
                 {"memory", 4096}};
  const Json past{{"past",
                   {{"gap", unwatched.at("until")},
                    {"from", unwatched.at("from")},
                    {"until", unwatched.at("until")},
                    {"jobs", {job}}}}};
  const std::uint64_t before = head();
  EXPECT_TRUE(sync(said(past)).body.at("unwatched").is_null());
  EXPECT_EQ(sync(said(past)).status, 200);
  EXPECT_EQ(kinds_after(before), std::vector<std::string>{"ForeignUseFound"});
}

TEST_F(ExecutorsTest, ALateCallAndAFormerAdapterAreRefused) {
  const Json first = said({{"allocations", {running("7")}}});
  EXPECT_EQ(sync(said()).status, 200);
  EXPECT_EQ(sync(first).code(), "sync_late");
  EXPECT_EQ(node().at("gpus_free"), 2);
  incarnation = "a2";
  number = 0;
  EXPECT_EQ(sync(said()).status, 200);
  incarnation = "a1";
  number = 10;
  EXPECT_EQ(sync(said()).code(), "adapter_replaced");
}

TEST_F(ExecutorsTest, WhatCannotBeReadChangesNothing) {
  Json bad = running("7");
  bad["device"] = 1;
  EXPECT_EQ(sync(said({{"allocations", {bad}}})).code(), "unknown_field");
  EXPECT_EQ(sync(said({{"wait_s", 61}})).code(), "out_of_range");
  EXPECT_EQ(sync({{"number", 1}}).code(), "missing_field");
  EXPECT_EQ(node().at("gpus_free"), 2);
}

TEST_F(ExecutorsTest, NothingStartsBeforeItsPlaceholderIsConfirmed) {
  sync(said());
  const std::uint64_t job = live.submit(small_job_body());
  const Json launch = agent.wait_line("launch");
  EXPECT_TRUE(launch.at("barrier")) << "also of one placement alone";
  agent.tell("prepared", job, 1);
  EXPECT_EQ(attempt_of(job).at("stage"), "placeholder");
  const Answer answer = sync(said());
  ASSERT_EQ(answer.status, 200);
  ASSERT_EQ(answer.body.at("wanted").size(), 1u) << answer.response.body;
  const Json wanted = answer.body.at("wanted").at(0);
  EXPECT_EQ(wanted.at("job"), job);
  EXPECT_EQ(wanted.at("node"), "n1");
  EXPECT_EQ(wanted.at("cores").size(), 1u);
  EXPECT_EQ(wanted.at("id"), "");
  sync(said(holding(job, "asked")));
  EXPECT_EQ(live.call("GET", "/v1/jobs/1/why").body.at("text"),
            "starts when every executor has confirmed: slurm is to hold its place on n1 (asked as "
            "1300)");
  EXPECT_EQ(attempt_of(job).at("stage"), "placeholder");
  EXPECT_EQ(sync(said(holding(job, "confirmed"))).body.at("wanted").at(0).at("id"), "1300");
  agent.wait_line("start");
  const Json attempt = attempt_of(job);
  EXPECT_EQ(attempt.at("stage"), "starting");
  EXPECT_EQ(attempt.at("placements").at(0).at("placeholders").at(0).at("id"), "1300");
}

TEST_F(ExecutorsTest, TasksArePinnedToTheCoresThatItsPlaceholderHolds) {
  sync(said());
  const std::uint64_t job = live.submit(small_job_body());
  EXPECT_EQ(agent.wait_line("launch").at("placement").at("cores"), Json::array({0}));
  agent.tell("prepared", job, 1);
  sync(said());
  Json confirmed = holding(job, "confirmed");
  confirmed["placeholders"][0]["cores"] = {3};
  sync(said(confirmed));
  const Json start = agent.wait_line("start");
  EXPECT_EQ(start.at("placement").at("cores"), Json::array({3}));
  EXPECT_EQ(start.at("placement").at("tasks").at(0).at("cores"), Json::array({3}));
  EXPECT_EQ(attempt_of(job).at("placements").at(0).at("cores"), Json::array({3}));
}

class ThreadsTest : public ExecutorsTest {
  Inventory inventory() const override { return with_two_threads_each(plain_inventory()); }
};

TEST_F(ThreadsTest, AJobGetsWholeCoresAsItsPlaceholder) {
  sync(said());
  const std::uint64_t job = live.submit(small_job_body());
  EXPECT_EQ(agent.wait_line("launch").at("placement").at("cores"), Json::array({0, 2}));
  EXPECT_EQ(node().at("cores_free"), 2);
  agent.tell("prepared", job, 1);
  const Answer answer = sync(said());
  EXPECT_EQ(answer.body.at("wanted").at(0).at("cores"), Json::array({0})) << "as Slurm counts";
  Json confirmed = holding(job, "confirmed");
  confirmed["placeholders"][0]["cores"] = {1};
  sync(said(confirmed));
  const Json start = agent.wait_line("start");
  EXPECT_EQ(start.at("placement").at("tasks").at(0).at("cores"), Json::array({1, 3}));
  EXPECT_EQ(node().at("cores_free"), 2);
}

TEST_F(ExecutorsTest, ACallIsAnsweredWhenSomethingElseIsWanted) {
  sync(said());
  std::optional<Json> answer;
  wire::Request request;
  request.method = "POST";
  request.target = "/v1/executors/slurm/sync";
  request.headers = {{"Authorization", "Bearer " + account}};
  request.body = said({{"wait_s", 60}}).dump();
  wire::AsyncClient waiting(live.loop, "127.0.0.1", live.api->port());
  waiting.call(std::move(request), [&](Result<wire::Response> response) {
    answer = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  });
  EXPECT_EQ(node().at("name"), "n1");
  EXPECT_FALSE(answer.has_value());
  live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->at("wanted").size(), 1u);
  EXPECT_NE(answer->at("version"), seen);
}

TEST_F(ThreadsTest, ItsAnswerSaysHowTheCoresOfItsNodesAreCounted) {
  EXPECT_EQ(sync(said()).body.at("level"), kNewestLevel) << "of the log";
  const Json machines = sync(said()).body.at("machines");
  ASSERT_EQ(machines.size(), 1u);
  EXPECT_EQ(machines[0].at("nodes"), Json({"n1"}));
  EXPECT_EQ(machines[0].at("cores"), 2);
  EXPECT_EQ(machines[0].at("threads_per_core"), 2);
  EXPECT_EQ(machines[0].at("cores_reserved"), 0);
}

TEST_F(ExecutorsTest, ItsAnswerNamesWhatIsDrainedHere) {
  ASSERT_LT(
      live.call("PUT", "/v1/objects/node/n1", {{"drained", true}, {"drain_reason", "fan"}}).status,
      300);
  EXPECT_EQ(sync(said()).body.at("drains"), Json::parse(R"([{"node": "n1", "why": "fan"}])"));
}

TEST_F(ExecutorsTest, ItsAnswerNamesItsJobsThatMakeRoomAndWhatIsKeptForOurs) {
  const auto declare = [&](const Json& more) {
    return live.call("PUT", "/v1/objects/executor/slurm", more);
  };
  ASSERT_LT(declare({{"queues", {{"lab", "default"}}}}).status, 300);
  Json theirs = running("7");
  theirs["partition"] = "batch";
  theirs["may_requeue"] = true;
  sync(said({{"allocations", {theirs}}}));
  Json body = small_job_body();
  body.update(Json{{"gpus", 2}, {"priority", 5}});
  const std::uint64_t job = live.submit(body);
  Answer answer = sync(said({{"allocations", {theirs}}}));
  EXPECT_EQ(answer.body.at("put_backs"), Json::array()) << "nobody has said that they may be";
  ASSERT_LT(declare({{"preempts", {"batch"}}}).status, 300);
  answer = sync(said({{"allocations", {theirs}}}));
  EXPECT_EQ(answer.body.at("put_backs"), Json::array({Json{{"id", "7"}, {"job", job}}}));
  EXPECT_EQ(answer.body.at("kept"), Json::parse(R"([{"node": "n1", "devices": [0, 1]}])"));
  const std::string why = live.call("GET", "/v1/jobs/" + std::to_string(job) + "/why").body.dump();
  EXPECT_NE(why.find("slurm job 7 of grace, which is being put back for this job"),
            std::string::npos)
      << why;
  EXPECT_TRUE(node().at("executors").at(0).at("foreign").at(0).at("may_requeue"));
  answer = sync(said());
  EXPECT_EQ(answer.body.at("put_backs"), Json::array());
  EXPECT_EQ(answer.body.at("wanted").at(0).at("devices"), Json::array({0, 1}));
  EXPECT_EQ(declare({{"placeholders", false}}).code(), "executor_preempts_nothing");
}

TEST_F(ExecutorsTest, ARefusedPlacementEndsAndIsPlacedAnew) {
  sync(said());
  const std::uint64_t job = live.submit(small_job_body());
  agent.wait_line("launch");
  Json refused = holding(job, "refused");
  refused["placeholders"][0]["why"] = "Resources";
  EXPECT_TRUE(sync(said(refused)).body.at("wanted").empty());
  agent.wait_line("stop");
  agent.tell("ended", job, 1, {{"exits", Json::array()}});
  EXPECT_EQ(attempt_of(job).at("stop_reason"), "placeholder");
  EXPECT_TRUE(live.until([&] {
    return live.call("GET", "/v1/jobs/1").body.at("attempts").size() == 2u;
  })) << "after a second";
}

// Jobs that Slurm runs on n1.
class ExecutorJobsTest : public ExecutorsTest {
 protected:
  void SetUp() override {
    ExecutorsTest::SetUp();
    ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm",
                        {{"service_account", "slurm-1"},
                         {"nodes", {"n[1-2]"}},
                         {"placeholders", false},
                         {"runs_jobs", true}})
                  .status,
              300);
    sync(said());
  }
  static Json body_of(Json more = Json::object()) {
    Json body = small_job_body();
    body["executor"] = "slurm";
    body.update(more);
    return body;
  }
  std::string refused(const Json& more) {
    const Answer answer = live.call("POST", "/v1/jobs", body_of(more));
    return answer.status < 300 ? "accepted" : answer.code();
  }
  Json works(std::uint64_t job, const char* state, Json exits = Json::array()) {
    Json all = holding(job, "confirmed");
    all["works"] = {{{"job", job},
                     {"attempt", 1},
                     {"node", "n1"},
                     {"state", state},
                     {"exits", std::move(exits)}}};
    return all;
  }
};

TEST_F(ExecutorJobsTest, ItsAdapterRunsAJobAndOurAgentHearsNothing) {
  const std::uint64_t job = live.submit(body_of());
  EXPECT_TRUE(sync(said()).body.at("works").empty());
  Answer answer = sync(said(holding(job, "confirmed")));
  ASSERT_TRUE(live.until([&] {
    answer = sync(said(holding(job, "confirmed")));
    return !answer.body.at("works").empty();
  }));
  EXPECT_EQ(answer.body.at("wanted").at(0).at("runs"), true);
  const Json work = answer.body.at("works").at(0);
  EXPECT_EQ(work.at("stop"), false);
  EXPECT_EQ(work.at("exec").at("outputs").at(0).at("stdout"),
            "dove-" + std::to_string(job) + ".out");
  sync(said(works(job, "running")));
  EXPECT_EQ(attempt_of(job).at("stage"), "running");
  sync(said(works(job, "ended", {{{"rank", 0}, {"exit_code", 3}}})));
  ASSERT_TRUE(
      live.until([&] { return live.call("GET", "/v1/jobs/1").body.at("state") == "failed"; }));
  EXPECT_EQ(live.call("GET", "/v1/jobs/1").body.at("exit_code"), 3);
  for (const Json& line : agent.lines) EXPECT_NE(line.value("order", ""), "launch");
}

// sbatch --signal=USR1@60
TEST_F(ExecutorJobsTest, ItsAdapterHearsWhenToWarnItOnceItRuns) {
  const Json submitted =
      live.call("POST", "/v1/jobs",
                body_of({{"time_limit", "10m"}, {"warn_signal", 10}, {"warn_before_s", 60}}))
          .body;
  EXPECT_EQ(submitted.dump().find("no effect"), std::string::npos) << submitted;
  const std::uint64_t job = submitted.at("id");
  Answer answer = sync(said(holding(job, "confirmed")));
  ASSERT_TRUE(live.until([&] {
    answer = sync(said(holding(job, "confirmed")));
    return !answer.body.at("works").empty();
  }));
  EXPECT_FALSE(answer.body.at("works").at(0).contains("warning")) << "its time does not run yet";
  answer = sync(said(works(job, "running")));
  const Json warning = answer.body.at("works").at(0).at("warning");
  EXPECT_EQ(warning.at("signal"), 10);
  EXPECT_EQ(warning.at("steps_first"), false);
  const auto instant = [](const Json& text) {
    return codec::parse_instant(text.get<std::string>());
  };
  EXPECT_EQ(*instant(warning.at("at")), *instant(attempt_of(job).at("started_at")) + seconds(540));
}

// A script starts steps on all its nodes by itself.
TEST_F(ExecutorJobsTest, AScriptRunsOnItsFirstNodeAndTheOthersAreHeld) {
  const Json inventory = codec::inventory_json(plain_inventory());
  const Json nodes = {{{"name", "n1"}, {"state", "up"}},
                      {{"name", "n2"}, {"state", "up"}, {"inventory", inventory}}};
  sync(said({{"nodes", nodes}}));
  Json body = body_of({{"script", "#!/bin/sh\n"}, {"tasks", 3}, {"nodes", 2}});
  body.erase("command");
  const std::uint64_t job = live.submit(body);
  const auto told = [&](const char* state) {
    Json all = {{"nodes", nodes}, {"placeholders", Json::array()}, {"works", Json::array()}};
    for (const char* node : {"n1", "n2"}) {
      const Json key = {{"job", job}, {"attempt", 1}, {"node", node}};
      all["placeholders"].push_back(key);
      all["placeholders"].back().update(Json{{"id", node}, {"state", "confirmed"}});
      if (*state == '\0') continue;
      all["works"].push_back(key);
      all["works"].back().update(Json{{"state", state}, {"exits", Json::array()}});
    }
    return all;
  };
  Answer answer;
  ASSERT_TRUE(live.until([&] {
    answer = sync(said(told("")));
    return answer.body.at("works").size() == 2;
  })) << answer.response.body;
  const auto work_of = [&](int rank) {
    for (const Json& work : answer.body.at("works")) {
      if (work.at("node_rank") == rank) return work;
    }
    return Json();
  };
  const Json first = work_of(0);
  EXPECT_EQ(first.at("exec").at("script"), "#!/bin/sh\n");
  EXPECT_EQ(first.at("exec").at("environment").at("DOVE_TASKS_PER_NODE"), "2,1");
  EXPECT_EQ(work_of(1).at("exec").at("script"), "")
      << "an adapter of a former version runs it, too";
  EXPECT_TRUE(work_of(1).at("tasks").empty());
  sync(said(told("running")));
  Json over = told("running");
  for (Json& work : over["works"]) {
    if (work.at("node") != first.at("node")) continue;
    work["state"] = "ended";
    work["exits"] = {{{"rank", 0}, {"exit_code", 0}}, {{"rank", 1}, {"exit_code", 0}}};
  }
  ASSERT_TRUE(live.until([&] {
    answer = sync(said(over));
    return answer.body.at("works").size() == 1 && answer.body.at("works").at(0).at("stop") == true;
  })) << answer.response.body;
  EXPECT_EQ(work_of(1).at("stop_signal"), 9);
  EXPECT_EQ(work_of(1).at("grace_s"), 0);
}

TEST_F(ExecutorJobsTest, WhatItCannotGiveIsRefused) {
  const Answer unknown = live.call("POST", "/v1/jobs", body_of({{"executor", "slrum"}}));
  EXPECT_EQ(unknown.code(), "executor_unknown");
  EXPECT_NE(unknown.response.body.find("perhaps you mean slurm"), std::string::npos);
  EXPECT_EQ(refused({{"container", {{"image", "debian"}}}}), "executor_no_images");
  EXPECT_EQ(refused({{"secrets", {{{"secret", "hub"}, {"variable", "HUB"}}}}}),
            "secrets_elsewhere");
  EXPECT_EQ(refused({{"app", {{"name", "notebook"}, {"port", 8888}}}}), "executor_no_sessions");
  EXPECT_EQ(refused({{"environment", {{"SRUN_X", "1"}}}}), "executor_environment");
  EXPECT_EQ(refused(Json::object()), "accepted");
}

TEST_F(ExecutorJobsTest, AnExecutorWithJobsStays) {
  live.submit(body_of());
  EXPECT_EQ(live.call("DELETE", "/v1/objects/executor/slurm").code(), "executor_in_use");
}

}  // namespace
}  // namespace dove::server
