// Jobs that wait in an executor for the ledger's word.
#include "server/executors/executors_fixture.h"

namespace dove::server {
namespace {

class GateJobsTest : public ExecutorsTest {
 protected:
  void SetUp() override {
    ExecutorsTest::SetUp();
    declare(true);
    sync(said());
  }
  void declare(bool gate, const Json& queues = Json::object()) {
    ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm",
                        {{"service_account", "slurm-1"},
                         {"nodes", {"n[1-2]"}},
                         {"placeholders", false},
                         {"queues", queues},
                         {"gate", gate}})
                  .status,
              300);
  }
  Answer tell(Json more) {
    more.update(Json{{"incarnation", incarnation}, {"number", ++told}});
    return live.call("POST", "/v1/executors/slurm/waiting", more, {}, &account);
  }
  static Json job(const char* id, Json more = Json::object()) {
    Json all{{"id", id},   {"user", "grace"},         {"submitted_at", "2020-01-01T00:00:00Z"},
             {"cores", 1}, {"memory_bytes", 1 << 20}, {"name", "train"}};
    all.update(more);
    return all;
  }
  Answer take(const char* id, Json more = Json::object()) {
    return tell({{"present", {{{"id", id}}}}, {"jobs", {job(id, std::move(more))}}});
  }
  Json first(const Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    return answer.status == 200 ? answer.body.at("jobs").at(0) : Json::object();
  }
  std::string state_of(const Json& id) {
    return live.call("GET", "/v1/jobs/" + id.dump()).body.at("state");
  }

  std::uint64_t told = 0;
};

TEST_F(GateJobsTest, AReservationIsTheExecutors) {
  const Json in_course{{"reservation", "course"}, {"time_limit_s", 315360000}};
  EXPECT_EQ(first(take("7", in_course)).at("state"), "refused") << "there is none yet";
  const Json course{{"name", "course"},
                    {"nodes", {"n1"}},
                    {"starts_at", nullptr},
                    {"ends_at", "2100-01-01T00:00:00Z"}};
  sync(said({{"reservations", {course}}}));
  const Json one = first(take("7", in_course));
  EXPECT_EQ(one.at("state"), "active") << one.dump();
  const Json shown = live.call("GET", "/v1/jobs/" + one.at("job").dump()).body;
  EXPECT_EQ(shown.value("reservation", ""), "slurm:course");
  EXPECT_EQ(shown.value("time_limit_s", 0), 0) << "Slurm ends it with its reservation";
}

TEST_F(GateJobsTest, LicencesAreCountablesOfTheCluster) {
  const Json two{{"cluster_requests", {{"licence:matlab", 2}}}};
  const Json unknown = first(take("1", two));
  EXPECT_EQ(unknown.at("state"), "refused");
  EXPECT_NE(unknown.at("why").get<std::string>().find("licence:matlab"), std::string::npos);
  const Json settings{{"countables", {{"licence:matlab", 3}}}};
  ASSERT_LT(live.call("PUT", "/v1/objects/cluster/default", settings).status, 300);
  EXPECT_EQ(first(take("2", two)).at("state"), "active");
  EXPECT_EQ(first(take("3", two)).at("state"), "waiting") << "one is left";
}

TEST_F(GateJobsTest, ItsFeaturesMayBeAlternatives) {
  sync(said({{"nodes",
              {{{"name", "n1"}, {"state", "up"}, {"features", {"h100"}}},
               {{"name", "n2"}, {"state", "up"}, {"features", {"v100"}}}}}}));
  EXPECT_EQ(first(take("1", {{"features", {"a100|h100"}}})).at("state"), "active");
  EXPECT_EQ(first(take("2", {{"features", {"a100|h100", "v100"}}})).at("state"), "waiting");
  const Json wrong = first(take("3", {{"features", {"a100|"}}}));
  EXPECT_EQ(wrong.at("state"), "refused");
  EXPECT_NE(wrong.at("why").get<std::string>().find("features[0]"), std::string::npos);
}

TEST_F(GateJobsTest, ItsNiceAndItsQosCount) {
  for (const char* name : {"day", "night"}) {
    ASSERT_LT(live.call("PUT", std::string("/v1/objects/queue/") + name, Json::object()).status,
              300);
  }
  declare(true, {{"lab", "day"}, {"qos:long", "night"}});
  const auto shown = [&](const char* id, Json more) {
    more["account"] = "lab";
    const Json taken = first(take(id, std::move(more)));
    EXPECT_NE(taken.at("job"), 0) << taken.dump();
    return live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body;
  };
  Json job = shown("1", {{"nice", 50}, {"qos", "normal"}});
  EXPECT_EQ(job.value("priority", 0), -50) << job.dump();
  EXPECT_EQ(job.value("queue", ""), "day");
  job = shown("2", {{"nice", -1'000'000}, {"qos", "long"}});
  EXPECT_EQ(job.value("priority", 0), 1'000'000);
  EXPECT_EQ(job.value("queue", ""), "night");
}

TEST_F(GateJobsTest, AJobThatWaitsThereIsOneOfOursOnce) {
  const Json taken = first(take("77", {{"hold", true}}));
  EXPECT_EQ(taken.at("state"), "waiting");
  const Json shown = live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body;
  EXPECT_EQ(shown.at("user"), "grace");
  EXPECT_EQ(shown.at("held"), true);
  EXPECT_EQ(first(take("77")).at("job"), taken.at("job")) << "told twice";
  EXPECT_EQ(first(tell({{"present", {{{"id", "78"}}}}})).at("state"), "unknown");
  EXPECT_TRUE(live.until([&] { return state_of(taken.at("job")) == "cancelled"; }))
      << "it does not wait there any more";
}

TEST_F(GateJobsTest, AClockThatIsAheadMakesNoOtherJob) {
  const Json ahead{{"hold", true}, {"submitted_at", "2099-01-01T00:00:00Z"}};
  const Json taken = first(take("77", ahead));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first(take("77", ahead)).at("job"), taken.at("job"));
  EXPECT_EQ(state_of(taken.at("job")), "held");
  const Json other{{"hold", true}, {"submitted_at", "2099-02-01T00:00:00Z"}};
  const Json anew = first(take("77", other));
  EXPECT_NE(anew.at("job"), taken.at("job")) << "the numbers have begun anew";
  take("77", other);
  EXPECT_TRUE(live.until([&] { return state_of(taken.at("job")) == "cancelled"; }));
  EXPECT_EQ(state_of(anew.at("job")), "held");
}

// An adapter that began anew describes it, with the instant at which Slurm put it back.
TEST_F(GateJobsTest, AJobThatWasPutBackIsTheSame) {
  const Json taken = first(take("77"));
  EXPECT_EQ(taken.at("state"), "active");
  incarnation = "b";
  told = 0;
  sync(said());
  const Json again = {{"submitted_at", "2099-01-01T00:00:00Z"}, {"restarts", 1}};
  EXPECT_EQ(first(take("77", again)).at("job"), taken.at("job"));
}

TEST_F(GateJobsTest, OfAJobThatItsUserGaveTheExecutorNoOutputIsRead) {
  const Json taken = first(take("77"));
  ASSERT_EQ(taken.at("state"), "active");
  const Answer log = live.call("GET", "/v1/jobs/" + taken.at("job").dump() + "/logs");
  EXPECT_EQ(log.status, 409);
  EXPECT_EQ(log.code(), "run_by_executor");
  const Answer asked =
      live.call("POST", "/v1/executors/slurm/output?wait_s=0", Json::object(), {}, &account);
  EXPECT_EQ(asked.status, 200);
  EXPECT_EQ(asked.body.at("read"), nullptr);
}

TEST_F(GateJobsTest, AJobThatWaitsThereStillIsTakenAgain) {
  const Json first_time = first(take("77", {{"hold", true}}));
  tell({{"present", Json::array()}});
  ASSERT_TRUE(live.until([&] { return state_of(first_time.at("job")) == "cancelled"; }));
  const Json again = first(take("77", {{"hold", true}}));
  EXPECT_EQ(again.at("state"), "waiting");
  EXPECT_NE(again.at("job"), first_time.at("job"));
  tell({{"present", Json::array()}});
  ASSERT_TRUE(live.until([&] { return state_of(again.at("job")) == "cancelled"; }));
  EXPECT_EQ(first(take("77", {{"hold", true}})).at("state"), "waiting") << "a third time";
}

TEST_F(GateJobsTest, WhatIsCancelledHereIsSaidToHaveEnded) {
  const Json taken = first(take("77", {{"hold", true}}));
  live.call("POST", "/v1/jobs/" + taken.at("job").dump() + "/cancel", Json::object());
  const Json known{{"id", "77"}, {"job", taken.at("job")}};
  ASSERT_TRUE(live.until([&] {
    return first(tell({{"present", {known}}})).at("state") == "ended";
  }));
}

TEST_F(GateJobsTest, WhatIsCancelledWhileNobodyListensDoesNotComeBack) {
  const Json taken = first(take("77", {{"hold", true}}));
  live.call("POST", "/v1/jobs/" + taken.at("job").dump() + "/cancel", Json::object());
  ASSERT_TRUE(live.until([&] { return state_of(taken.at("job")) == "cancelled"; }));
  // An adapter that began anew knows none of our ids.
  const Json again = first(take("77", {{"hold", true}}));
  EXPECT_EQ(again.at("state"), "ended");
  EXPECT_EQ(again.at("job"), taken.at("job"));
  EXPECT_NE(live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body.at("cancelled_by"),
            "slurm-1");
  // Requeued by hand since: somebody wants it to run.
  EXPECT_EQ(first(take("77", {{"hold", true}, {"restarts", 1}})).at("state"), "waiting");
}

TEST_F(GateJobsTest, WhoMaySayIt) {
  EXPECT_EQ(take("", {{"user", "grace"}}).status, 400);
  const std::uint64_t late = told;
  told = 0;
  EXPECT_EQ(take("77").code(), late > 1 ? "sync_late" : "");
  told = late;
  incarnation = "a2";
  EXPECT_EQ(take("77").code(), "sync_first");
  number = 0;
  sync(said());
  told = 0;
  EXPECT_NE(first(take("77")).at("job"), 0) << "the numbers of another process";
  account.swap(stranger);
  EXPECT_EQ(take("77").code(), "not_its_account");
}

class GateThreadsTest : public GateJobsTest {
  Inventory inventory() const override { return with_two_threads_each(plain_inventory()); }
};

TEST_F(GateThreadsTest, ACoreIsTakenWithAllOfItsThreads) {
  const Json taken = first(take("77", {{"cores", 2}}));
  const Json shown = live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body;
  EXPECT_EQ(shown.at("attempts").at(0).at("placements").at(0).at("cores"),
            Json::array({0, 1, 2, 3}));
  sync(said());
  EXPECT_EQ(node().at("cores_free"), 0);
}

TEST_F(GateThreadsTest, TheyAreThoseOfTheNodesThatItMayRunOn) {
  FakeAgent plain{live, "n2"};
  plain.also_said["inventory"] = codec::inventory_json(plain_inventory());
  plain.connect();
  const auto cores_of = [&](const char* id, const Json& more) {
    const Json taken = first(take(id, more));
    return live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body.at("request").at("cores");
  };
  EXPECT_EQ(cores_of("77", {{"nodes_wanted", {"n1"}}}), 2);
  EXPECT_EQ(cores_of("78", {{"nodes_wanted", {"n2"}}}), 1);
  EXPECT_EQ(cores_of("79", {{"nodes_wanted", {"n1", "n2"}}}), 1);
  EXPECT_EQ(cores_of("80", Json::object()), 1);
  const Json two = {{"nodes", 2}, {"nodes_wanted", {"n1"}}};
  EXPECT_EQ(cores_of("81", two), 2) << "one on each";
  EXPECT_EQ(cores_of("82", {{"nodes_excluded", {"n2"}}}), 2);
}

TEST_F(GateJobsTest, AJobThatIsNotUnderstoodIsRefusedAlone) {
  const Answer answer = tell({{"present", {{{"id", "77"}}, {{"id", "78"}}}},
                              {"jobs", {job("77", {{"nodes", 0}}), job("78", {{"hold", true}})}}});
  ASSERT_EQ(answer.status, 200) << answer.response.body;
  const Json& jobs = answer.body.at("jobs");
  EXPECT_EQ(jobs.at(0).at("state"), "refused");
  EXPECT_NE(jobs.at(0).at("why").get<std::string>().find("nodes"), std::string::npos);
  EXPECT_EQ(jobs.at(1).at("state"), "waiting");
}

TEST_F(GateJobsTest, WithoutAGateNothingWaits) {
  EXPECT_EQ(tell({{"room", true}}).code(), "executor_has_gate");
  declare(false);
  EXPECT_EQ(take("77").code(), "executor_no_gate");
}

// Ours make room for jobs of the partition "inference".
class RoomJobsTest : public GateJobsTest {
 protected:
  void SetUp() override {
    ExecutorsTest::SetUp();  // NOLINT(bugprone-parent-virtual-call): these have no gate
    yield_to({"inference"});
  }
  void yield_to(const Json& partitions) {
    ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm",
                        {{"queues", {{"serving", "default"}}}, {"yields_to", partitions}})
                  .status,
              300);
  }
  Answer ask(const char* id, Json more = Json::object()) {
    Json one = job(id, {{"account", "serving"}, {"partition", "inference"}, {"gpus", 2}});
    one.update(more);
    return tell({{"room", true}, {"present", {{{"id", id}}}}, {"jobs", {one}}});
  }
};

TEST_F(RoomJobsTest, ItGetsRoomUntilItHasBegun) {
  EXPECT_EQ(sync(said()).body.at("yields_to"), Json::array({"inference"}));
  const Json room = first(ask("77"));
  ASSERT_EQ(room.at("state"), "active") << room.dump();
  const std::uint64_t known = room.at("job");
  Answer answer = sync(said());
  ASSERT_EQ(answer.body.at("wanted").size(), 1u);
  EXPECT_EQ(answer.body["wanted"][0].at("foreign_job"), "77");
  EXPECT_EQ(answer.body["wanted"][0].at("devices"), Json::array({0, 1}));
  Json begun = running("77");
  begun.update(Json{{"devices", {0, 1}}, {"account", "serving"}});
  Json report = holding(known, "refused");
  report["placeholders"][0].update(Json{{"id", ""}, {"why", "Slurm has started its job 77"}});
  report["allocations"] = Json::array({begun});
  answer = sync(said(report));
  EXPECT_TRUE(answer.body.at("wanted").empty());
  ASSERT_EQ(answer.body.at("works").size(), 1u);
  EXPECT_EQ(answer.body["works"][0].at("stop"), true);
  EXPECT_EQ(node().dump().find("hold it at once"), std::string::npos) << "both are one job's";
  EXPECT_EQ(tell({{"room", true}, {"present", Json::array()}}).status, 200);
  sync(said({{"allocations", {begun}},
             {"works", {{{"job", known}, {"attempt", 1}, {"node", "n1"}, {"state", "ended"}}}}}));
  EXPECT_EQ(attempt_of(known).at("stop_reason"), "placeholder");
  EXPECT_TRUE(live.until([&] { return state_of(known) == "cancelled"; }));
  EXPECT_EQ(node().at("executors").at(0).at("foreign").at(0).at("id"), "77");
}

TEST_F(RoomJobsTest, ItsLevelIsThatOfItsAccountsQueueAlone) {
  ASSERT_LT(live.call("PUT", "/v1/objects/queue/night", Json::object()).status, 300);
  ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm",
                      {{"queues", {{"serving", "default"}, {"qos:long", "night"}}}})
                .status,
            300);
  const Json taken = first(ask("77", {{"nice", -500}, {"qos", "long"}, {"hold", true}}));
  const Json shown = live.call("GET", "/v1/jobs/" + taken.at("job").dump()).body;
  EXPECT_EQ(shown.value("priority", 0), 0) << shown.dump();
  EXPECT_EQ(shown.value("queue", ""), "default");
  EXPECT_EQ(shown.value("held", true), false);
}

TEST_F(RoomJobsTest, WhoGetsNoneIsToldWhy) {
  const auto why = [&](const Json& more) {
    const Json answer = first(ask("77", more));
    return answer.value("state", "") == "refused" ? answer.value("why", "") : "";
  };
  EXPECT_NE(why({{"account", "guests"}}).find("stands for no queue"), std::string::npos);
  EXPECT_NE(why({{"partition", "main"}}).find("`yields_to`"), std::string::npos);
  yield_to(Json::array());
  EXPECT_EQ(ask("77").code(), "executor_yields_to_nobody");
}

TEST_F(RoomJobsTest, WhatWasToldIsTakenBackWhenNobodyYieldsAnyMore) {
  const Json room = first(ask("77", {{"gpus", 1000}}));
  ASSERT_EQ(room.at("state"), "waiting") << room.dump();
  yield_to(Json::array());
  EXPECT_EQ(tell({{"room", true}, {"present", Json::array()}}).status, 200);
  EXPECT_TRUE(live.until([&] { return state_of(room.at("job")) == "cancelled"; }));
}

}  // namespace
}  // namespace dove::server
