#include "slurm/sync.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::slurm {
namespace {

using nlohmann::json;

TEST(Sync, RequestAsTheControllerReadsIt) {
  SyncRequest request;
  request.incarnation = "ab12";
  request.number = 7;
  request.seen = 1234;
  request.wait_s = 20;
  NodeSeen node;
  node.name = "n1";
  node.state = NodeSeen::State::kDrained;
  node.reason = "bad fan";
  request.nodes = {node};
  JobSeen job;
  job.id = 1234;
  job.name = "train";
  job.user = "ada";
  job.account = "lab";
  job.partition = "gpu";
  job.priority = 100;
  job.started_s = 1795453177;
  job.allocations = {{"n1", {0, 1}, {0, 2}, 1024}, {"n2", {3}, {}, 0}};
  request.foreign = {job};
  request.placeholders = {{{17, 2, "n1"}, 1300, PlaceholderState::kConfirmed, "", {3}, {4, 5}},
                          {{18, 1, "n1"}, 0, PlaceholderState::kRefused, "busy", {}}};
  EXPECT_EQ(json::parse(write_request(request)), json::parse(R"({
    "incarnation": "ab12", "number": 7, "seen": 1234, "wait_s": 20, "complete": true,
    "allocations": [
      {"id": "1234", "node": "n1", "cores": [0, 1], "devices": [0, 2], "memory_bytes": 1024,
       "user": "ada", "account": "lab", "name": "train", "partition": "gpu", "priority": 100,
       "started_at": "2026-11-23T16:59:37.000000Z", "ends_by": null},
      {"id": "1234", "node": "n2", "cores": [3], "devices": [], "memory_bytes": 0,
       "user": "ada", "account": "lab", "name": "train", "partition": "gpu", "priority": 100,
       "started_at": "2026-11-23T16:59:37.000000Z", "ends_by": null}],
    "placeholders": [
      {"job": 17, "attempt": 2, "node": "n1", "id": "1300", "state": "confirmed", "why": "",
       "devices": [3], "cores": [4, 5]},
      {"job": 18, "attempt": 1, "node": "n1", "id": "", "state": "refused", "why": "busy",
       "devices": [], "cores": []}],
    "reservations": [],
    "nodes": [{"name": "n1", "state": "drained", "reason": "bad fan", "features": []}],
    "works": []})"));
}

TEST(Sync, CoresThatReservationsKeepAreAllocations) {
  SyncRequest request;
  request.kept_cores = {{"part", "n1", {0, 1}, 1'763'920'800},
                        {std::string(200, 'x'), "n1", {2}, 1'763'920'800}};
  EXPECT_EQ(json::parse(write_request(request)).at("allocations"), json::parse(R"([
    {"id": "reservation:part", "node": "n1", "cores": [0, 1], "devices": [], "memory_bytes": 0,
     "name": "part", "ends_by": "2025-11-23T18:00:00.000000Z"}])"))
      << "the controller would take none with an id as long as the other's";
}

TEST(Sync, CoresThatAreKeptLaterSayFromWhenOn) {
  SyncRequest request;
  request.kept_cores = {{"part", "n1", {0, 1}, 1'763'920'800, 1'763'917'200}};
  EXPECT_EQ(json::parse(write_request(request)).at("allocations"), json::parse(R"([
    {"id": "reservation:part", "node": "n1", "cores": [0, 1], "devices": [], "memory_bytes": 0,
     "name": "part", "started_at": "2025-11-23T16:59:00.000000Z",
     "ends_by": "2025-11-23T18:00:00.000000Z"}])"));
}

TEST(Sync, AReservationBeginsAMinuteEarlierForTheLedger) {
  SyncRequest request;
  request.reservations = {
      {"course", "n[1-2]", 1'763'917'200, 1'763'920'800, false, 16, {"n1", "n2"}}};
  EXPECT_EQ(json::parse(write_request(request)).at("reservations"), json::parse(R"([
    {"name": "course", "nodes": ["n[1-2]"], "starts_at": "2025-11-23T16:59:00.000000Z",
     "ends_at": "2025-11-23T18:00:00.000000Z"}])"));
}

TEST(Sync, FeaturesThatNoJobCanNameAreLeftOut) {
  SyncRequest request;
  request.nodes.resize(1);
  request.nodes[0].name = "n1";
  request.nodes[0].features = {"ib", std::string(65, 'x'), "a\nb"};
  const json said = json::parse(write_request(request)).at("nodes").at(0);
  EXPECT_EQ(said.at("features"), json({"ib"}));
}

TEST(Sync, AnInventoryIsToldWhereNoAgentRuns) {
  SyncRequest request;
  request.agentless = {"n[2-9]"};
  request.nodes.resize(2);
  request.nodes[0].name = "n1";
  request.nodes[1].name = "n2";
  const json nodes = json::parse(write_request(request))["nodes"];
  EXPECT_FALSE(nodes[0].contains("inventory"));
  EXPECT_EQ(nodes[1]["inventory"]["numa"].size(), 1u);
}

// A user's job by a strange name must not keep the whole report from being taken.
TEST(Sync, WhatUsersWroteIsOneLine) {
  SyncRequest request;
  JobSeen job;
  job.name = "a\nb\x01\x7f\"c" + std::string(1000, 'x') + "é";
  job.allocations = {{"n1", {}, {}, 0}};
  request.foreign = {job};
  const std::string name =
      json::parse(write_request(request))["allocations"][0]["name"].get<std::string>();
  EXPECT_EQ(name.substr(0, 8), "a b  \"cx");
  EXPECT_EQ(name.size(), 256u);
}

TEST(Sync, AnswerWithWhatIsWanted) {
  const auto answer = read_answer(R"({"version": 1235, "later": true, "wanted": [
    {"job": 17, "attempt": 2, "node": "n1", "cores": [4, 5], "devices": [3],
     "memory_bytes": 4294967296, "until": "2026-11-23T16:59:37Z", "user": "bob", "name": "train"},
    {"job": 18, "attempt": 1, "node": "n2", "cores": [], "devices": [], "memory_bytes": 0,
     "until": null, "user": "", "name": ""}]})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->version, 1235);
  ASSERT_EQ(answer->wanted.size(), 2u);
  const Wanted& one = answer->wanted[0];
  EXPECT_EQ(one.key, (PlaceholderKey{17, 2, "n1"}));
  EXPECT_EQ(one.cores, (std::vector<int>{4, 5}));
  EXPECT_EQ(one.devices, std::vector<int>{3});
  EXPECT_EQ(one.memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(one.until_s, 1795453177);
  EXPECT_EQ(one.user, "bob");
  EXPECT_EQ(answer->wanted[1].until_s, 0);
}

TEST(Sync, AnswerWithWhatTheNodesAre) {
  const auto answer = read_answer(R"({"version": 1, "wanted": [], "machines": [
    {"nodes": ["n[1-2]", "m3"], "cores": 8, "threads_per_core": 2, "cores_reserved": 3}]})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  ASSERT_EQ(answer->machines.size(), 1u);
  const Machine& one = answer->machines[0];
  EXPECT_EQ(one.nodes, (std::vector<std::string>{"n1", "n2", "m3"}));
  EXPECT_EQ(one.cores, 8);
  EXPECT_EQ(one.threads_per_core, 2);
  EXPECT_EQ(one.cores_reserved, 3);
}

TEST(Sync, WhatTheLedgerDidNotHearIsAskedForAndTold) {
  const auto answer = read_answer(R"({"version": 1, "wanted": [], "unwatched":
    {"from": "2026-11-23T16:59:37.000001Z", "until": "2026-11-23T17:00:00.5Z"}})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  ASSERT_TRUE(answer->unwatched);
  SyncRequest request;
  EXPECT_FALSE(json::parse(write_request(request)).contains("past"));
  request.past = PastPart{*answer->unwatched,
                          Instant{1'795'453'180'000'000},
                          {{7, "lab", 1795453000, 1795453178, 2, 1000, 4096}}};
  EXPECT_EQ(json::parse(write_request(request)).at("past"), json::parse(R"({
    "gap": "2026-11-23T17:00:00.500000Z", "from": "2026-11-23T16:59:37.000001Z",
    "until": "2026-11-23T16:59:40.000000Z",
    "jobs": [{"id": "7", "account": "lab", "started_at": "2026-11-23T16:56:40.000000Z",
              "ended_at": "2026-11-23T16:59:38.000000Z", "cores": 2, "gpus_milli": 1000,
              "memory_bytes": 4096}]})"));
  EXPECT_FALSE(read_answer(R"({"version": 1, "wanted": [], "unwatched": null})")->unwatched);
}

TEST(Sync, AnAnswerWithoutALevelIsOfTheFirst) {
  EXPECT_EQ(read_answer(R"({"version": 1, "wanted": []})")->level, kFirstLevel);
  EXPECT_EQ(read_answer(R"({"version": 1, "wanted": [], "level": 7})")->level, 7);
}

TEST(Sync, AnAnswerWithJobsThatMakeRoom) {
  const auto answer = read_answer(R"({"version": 1, "wanted": [],
    "put_backs": [{"id": "1234", "job": 17}], "kept": [{"node": "n1", "devices": [0, 2]}]})");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->put_backs, (std::vector<PutBack>{{1234, 17}}));
  EXPECT_EQ(answer->kept, (DevicesOfNodes{{"n1", {0, 2}}}));
}

TEST(Sync, AnAnswerWithPartitionsThatOursMakeRoomFor) {
  const auto yields_to = [](const std::string& field) {
    const auto answer = read_answer(R"({"version": 1, "wanted": [])" + field + "}");
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->yields_to : std::nullopt;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(yields_to(R"(, "yields_to": ["inference"])"), Names{"inference"});
  EXPECT_EQ(yields_to(R"(, "yields_to": [])"), Names{});
  EXPECT_FALSE(yields_to(R"(, "yields_to": null)")) << "they wait at a gate";
  EXPECT_FALSE(yields_to("")) << "a controller of a former version";
}

TEST(Sync, AJobThatMayBeRequeuedIsToldAsThat) {
  SyncRequest request;
  JobSeen job;
  job.allocations = {{"n1", {}, {}, 0}};
  request.foreign = {job, job};
  request.foreign[1].may_requeue = true;
  const json told = json::parse(write_request(request)).at("allocations");
  EXPECT_FALSE(told[0].contains("may_requeue"));
  EXPECT_EQ(told[1].at("may_requeue"), true);
}

TEST(Sync, AnAnswerThatIsWrongReleasesNothing) {
  for (const char* bad :
       {"", "{}", "[]", R"({"version": 1})", R"({"version": 1, "wanted": 7})",
        R"({"version": 1, "wanted": [{}]})",
        R"({"version": 1, "wanted": [{"job": 1, "node": "n", "devices": [-1]}]})",
        R"({"version": 1, "wanted": [{"job": 1, "node": "n", "until": "soon"}]})"}) {
    EXPECT_FALSE(read_answer(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dove::slurm
