#include "slurm/gate/gate_plan.h"

#include <gtest/gtest.h>

#include <csignal>

#include "slurm/fake_slurm_for_test.h"
#include "slurm/gate/gate_json.h"

namespace dove::slurm {
namespace {

constexpr const char kHere[] = "dovetail-gate run=17.1 restarts=0 nodes=-";

// Slurm job 5 waits at the gate, and the ledger gave it device 2 of n1.
class GatePlanTest : public testing::Test {
 protected:
  GatePlanTest() {
    Wanted one;
    one.key = {17, 1, "n1"};
    one.devices = {2};
    one.cores = {0, 1};
    one.memory_bytes = 100 << 20;
    one.foreign_job = "5";
    wanted.push_back(one);
    JobSeen job;
    job.id = 5;
    job.mark = "dovetail-gate";
    job.wants_devices = true;
    job.gate.emplace();
    job.gate->is_held = job.gate->may_requeue = true;
    job.gate->memory_per_node = 1;
    seen.nodes = FakeSlurm().state.nodes;
    seen.nodes[0].devices_bound = true;
    seen.nodes[0].cores_per_socket = 8;
    seen.jobs.push_back(job);
  }
  JobSeen& job() { return seen.jobs[0]; }
  void let_go() {
    job().mark = kHere;
    job().gate->is_held = false;
  }
  void starts(std::vector<int> devices) {
    let_go();
    job().phase = JobPhase::kHolding;
    job().allocations = {{"n1", {0}, std::move(devices), 0}};
  }
  void add(const std::string& mark, std::vector<int> devices, JobPhase phase = JobPhase::kHolding) {
    JobSeen other;
    other.id = 100 + static_cast<std::int64_t>(seen.jobs.size());
    other.mark = mark;
    other.phase = phase;
    other.allocations = {{"n1", {1}, std::move(devices), 0}};
    seen.jobs.push_back(other);
  }
  void fence(std::vector<int> devices) {
    add(placeholder_mark(fence_name({17, 1}, "dove")), std::move(devices));
  }
  void decided(bool stop = false, bool put_back = false) {
    WantedWork work;
    work.key = wanted[0].key;
    work.foreign_job = "5";
    work.ranks = {0};
    work.stop = stop;
    work.put_back = put_back;
    works = {work};
  }
  GatePlan plan() { return plan_gate(seen, wanted, works, memory, "dove", 1000); }

  Observed seen;
  std::vector<Wanted> wanted;
  std::vector<WantedWork> works;
  GateMemory memory;
};

TEST_F(GatePlanTest, FirstTheOtherDevicesAreFencedThenItIsLetGo) {
  add("", {0});
  GatePlan now = plan();
  ASSERT_EQ(now.fences.size(), 1u);
  EXPECT_EQ(now.fences[0].gres, "gpu:h_1:1,gpu:h_3:1");
  EXPECT_TRUE(now.place.empty());
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kAsked);
  fence({1, 3});
  now = plan();
  EXPECT_TRUE(now.fences.empty() && now.release.empty());
  ASSERT_EQ(now.place.size(), 1u);
  EXPECT_EQ(now.place[0].mark, "dovetail-gate run=17.1 restarts=0 gpus=n1:2 nodes=-");
  EXPECT_EQ(now.place[0].nodes, "n1");
}

// Slurm would count the devices as taken for good.
TEST_F(GatePlanTest, NothingStartsOrEndsOnANodeThatHasYetToRegister) {
  seen.nodes[0].registered = false;
  GatePlan now = plan();
  EXPECT_TRUE(now.fences.empty() && now.place.empty());
  EXPECT_EQ(now.reports[0].why, "Slurm waits for the node to answer");
  starts({2});
  decided(true, true);
  add(placeholder_mark(fence_name({9, 1}, "dove")), {3});
  now = plan();
  EXPECT_TRUE(now.put_back.empty() && now.release.empty());
  seen.nodes[0].registered = true;
  now = plan();
  EXPECT_EQ(now.put_back.size(), 1u);
  EXPECT_EQ(now.release.size(), 1u);
}

TEST_F(GatePlanTest, ASingleDeviceThatIsTheLowestFreeOneNeedsNoFence) {
  seen.nodes[0].devices_bound = false;
  add("", {0});
  ASSERT_EQ(plan().fences.size(), 1u);
  EXPECT_EQ(plan().fences[0].gres, "gpu:h_1:1");
  add("", {1});
  EXPECT_TRUE(plan().fences.empty());
  ASSERT_EQ(plan().place.size(), 1u);
  EXPECT_EQ(plan().place[0].first_node, "n1");
  wanted[0].devices = {2, 3};
  EXPECT_TRUE(plan().fences.empty()) << "no other device is free";
}

TEST_F(GatePlanTest, SeveralDevicesAreFencedAllAroundForTheirLinksMayDecide) {
  seen.nodes[0].devices_bound = false;
  wanted[0].devices = {0, 1};
  ASSERT_EQ(plan().fences.size(), 1u);
  EXPECT_EQ(plan().fences[0].gres, "gpu:h_2:1,gpu:h_3:1");
}

TEST_F(GatePlanTest, WhereSlurmGaveAnotherDeviceAllAreFencedForAWhile) {
  seen.nodes[0].devices_bound = false;
  wanted[0].devices = {0};
  EXPECT_TRUE(plan().fences.empty());
  memory.surprised_s["n1"] = 1000 - kSurprisedFor_s;
  EXPECT_TRUE(plan().fences.empty());
  ++memory.surprised_s["n1"];
  ASSERT_EQ(plan().fences.size(), 1u);
  EXPECT_EQ(plan().fences[0].gres, "gpu:h_1:1,gpu:h_2:1,gpu:h_3:1");
  starts({3});
  EXPECT_TRUE(plan().surprises.contains("n1"));
  EXPECT_EQ(plan().put_back.size(), 1u);
}

TEST_F(GatePlanTest, ThePrologIsToldTheDevicesOfThePlace) {
  seen.nodes[0].devices_bound = false;
  wanted[0].devices = {0};
  ASSERT_EQ(plan().place.size(), 1u);
  EXPECT_EQ(read_mark(plan().place[0].mark).gpus, "n1:0");
  job().gate->is_exclusive = true;
  wanted[0].devices = {0, 1, 2, 3};
  for (int core = 0; core < seen.nodes[0].cores_for_jobs(); ++core) wanted[0].cores.push_back(core);
  ASSERT_EQ(plan().place.size(), 1u);
  EXPECT_EQ(read_mark(plan().place[0].mark).gpus, "");
}

TEST_F(GatePlanTest, WhatThePrologPutBackIsPlacedAnewAmongFences) {
  seen.nodes[0].devices_bound = false;
  wanted[0].devices = {0};
  job().mark = plan().place.at(0).mark;
  EXPECT_FALSE(plan().surprises.contains("n1"));
  ++job().gate->restarts;
  EXPECT_TRUE(plan().surprises.contains("n1"));
  ASSERT_EQ(plan().newly_refused.size(), 1u);
  EXPECT_EQ(plan().reports.at(0).state, PlaceholderState::kRefused);
  memory.surprised_s["n1"] = 1000;
  ++wanted[0].key.attempt;
  EXPECT_EQ(plan().fences.size(), 1u);
}

TEST_F(GatePlanTest, WhatBecomesFreeMeanwhileIsFencedToo) {
  let_go();
  add("", {0});
  fence({1, 3});
  EXPECT_TRUE(plan().fences.empty());
  seen.jobs[1].phase = JobPhase::kEnding;  // free for Slurm
  ASSERT_EQ(plan().fences.size(), 1u);
  EXPECT_EQ(plan().fences[0].gres, "gpu:h_0:1");
}

// Suspended, a fence has its devices, and the job its core.
TEST_F(GatePlanTest, AFenceIsSuspendedWhereTheJobNeedsItsCore) {
  seen.nodes[0].cores_per_socket = 4;
  add("", {0});
  fence({1, 3});
  EXPECT_TRUE(plan().suspend.empty()) << "two cores are left";
  EXPECT_EQ(plan().place.size(), 1u);
  seen.nodes[0].cores_per_socket = 3;
  EXPECT_EQ(plan().suspend, std::vector<std::int64_t>{102});
  EXPECT_TRUE(plan().place.empty());
  seen.jobs[2].state = "SUSPENDED";
  EXPECT_TRUE(plan().suspend.empty());
  EXPECT_EQ(plan().place.size(), 1u);
  // Slurm may count otherwise than the ledger.
  seen.nodes[0].cores_per_socket = 4;
  seen.jobs[2].state = "RUNNING";
  let_go();
  job().gate->reason = "Priority";
  EXPECT_TRUE(plan().suspend.empty());
  job().gate->reason = "Resources";
  EXPECT_EQ(plan().suspend, std::vector<std::int64_t>{102});
}

TEST_F(GatePlanTest, ItsDeviceIsToBeFreeInSlurm) {
  add("", {2});
  EXPECT_TRUE(plan().fences.empty() && plan().place.empty());
}

TEST_F(GatePlanTest, OneAtATimeStartsOnANode) {
  Wanted other = wanted[0];
  other.key.job = 18;
  other.devices = {0};
  other.foreign_job = "6";
  wanted.push_back(other);
  JobSeen second = job();
  second.id = 6;
  seen.jobs.push_back(second);
  EXPECT_EQ(plan().fences.size(), 1u);
  wanted[1].devices.clear();  // without devices it waits for nobody
  EXPECT_EQ(plan().place.size(), 1u);
}

TEST_F(GatePlanTest, WhatHoldsItsDevicesIsConfirmedAndTheFenceGoes) {
  starts({2});
  fence({0, 1, 3});
  GatePlan now = plan();
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(now.reports[0].id, 5);
  EXPECT_EQ(now.reports[0].cores, seen.jobs[0].allocations[0].cores);
  EXPECT_FALSE(now.reports[0].cores.empty());
  EXPECT_TRUE(now.confirmed.contains(5));
  EXPECT_EQ(now.release.size(), 1u);
  EXPECT_TRUE(now.marks.empty());
  decided();
  now = plan();
  ASSERT_EQ(now.marks.size(), 1u);
  EXPECT_TRUE(read_mark(now.marks[0].second).is_seen);
  EXPECT_FALSE(now.works.at(0).has_ended);
}

TEST_F(GatePlanTest, OtherDevicesThanItsOwnAreGivenBack) {
  starts({3});
  const GatePlan now = plan();
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kRefused);
  EXPECT_FALSE(now.confirmed.contains(5)) << "until then it holds what nobody gave it";
  ASSERT_EQ(now.put_back.size(), 1u);
  EXPECT_FALSE(now.put_back[0].waits);
  EXPECT_EQ(now.put_back[0].mark, "dovetail-gate nodes=-");
}

TEST_F(GatePlanTest, MoreCoresOrMemoryThanItsOwnAreGivenBack) {
  starts({2});
  job().allocations[0].cores = {0, 1};
  job().allocations[0].memory_bytes = 100 << 20;
  EXPECT_TRUE(plan().put_back.empty());
  job().allocations[0].cores = {0, 1, 2};
  EXPECT_EQ(plan().put_back.size(), 1u);
  seen.nodes[0].cpus_per_core = 2;  // three tasks of one CPU
  EXPECT_TRUE(plan().put_back.empty());
  job().allocations[0].memory_bytes = 300 << 20;
  EXPECT_EQ(plan().put_back.size(), 1u);
}

TEST_F(GatePlanTest, AFenceThatNobodyRemembersGoes) {
  EXPECT_GT(plan().fences.at(0).limit_minutes, 0);
  add("", {1});  // its adapter was ended before it marked it
  seen.jobs[1].name = fence_name({16, 1}, "dove");
  add("", {3});
  seen.jobs[2].name = fence_name({16, 1}, "other");
  EXPECT_EQ(plan().release, std::vector<std::int64_t>{seen.jobs[1].id});
}

TEST_F(GatePlanTest, APlaceIsGoodForOneStart) {
  starts({2});
  job().gate->restarts = 1;
  const GatePlan now = plan();
  EXPECT_NE(now.reports[0].state, PlaceholderState::kConfirmed);
  EXPECT_FALSE(now.confirmed.contains(5));
}

TEST_F(GatePlanTest, WhatWasJustPutBackWaitsForSlurmsNextSecond) {
  fence({0, 1, 3});
  job().gate->restarts = 1;
  job().gate->submitted_s = 1001 - kAnew_after_s;
  GatePlan now = plan();
  EXPECT_TRUE(now.place.empty());
  EXPECT_EQ(now.reports.at(0).state, PlaceholderState::kAsked);
  EXPECT_NE(now.reports[0].why.find("a moment ago"), std::string::npos);
  --job().gate->submitted_s;
  EXPECT_EQ(plan().place.size(), 1u);
  job().gate->restarts = 0;
  job().gate->submitted_s = 1000;
  EXPECT_EQ(plan().place.size(), 1u) << "submitted just now";
}

TEST_F(GatePlanTest, WhatStartedWithoutItsPlaceIsPutBack) {
  starts({2});
  job().mark = "dovetail-gate nodes=-";  // it was taken back too late for the prolog
  ASSERT_EQ(plan().put_back.size(), 1u);
  EXPECT_EQ(plan().reports[0].state, PlaceholderState::kAsked);
  job().mark = "dovetail-gate run=16.1 restarts=0 nodes=-";
  EXPECT_EQ(plan().put_back.size(), 1u);
  job().mark += " seen";
  EXPECT_TRUE(plan().put_back.empty()) << "it ran with the ledger's knowledge";
}

TEST_F(GatePlanTest, WhatSlurmDoesNotStartIsTakenBackAndThenRefused) {
  let_go();
  memory.since_s[{17, 1}] = 1000 - kGateStartWithin_s;
  GatePlan now = plan();
  ASSERT_EQ(now.put_back.size(), 1u);
  EXPECT_TRUE(now.put_back[0].waits);
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kAsked) << "it may start until then";
  job().gate->is_held = true;
  job().mark = now.put_back[0].mark;
  memory.fence_trouble["n1"] = "no core is free";
  now = plan();
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kRefused);
  EXPECT_NE(now.reports[0].why.find("no core is free"), std::string::npos);
}

TEST_F(GatePlanTest, WhatTheLedgerTookBackIsHeldAgain) {
  let_go();
  wanted.clear();
  ASSERT_EQ(plan().put_back.size(), 1u);
  starts({2});
  EXPECT_EQ(plan().put_back.size(), 1u);
  job().mark += " seen";
  EXPECT_TRUE(plan().put_back.empty()) << "it ran with the ledger's knowledge";
}

TEST_F(GatePlanTest, AnEndIsReportedAsSlurmSaysIt) {
  starts({2});
  decided();
  job().phase = JobPhase::kEnding;
  EXPECT_EQ(plan().reports[0].state, PlaceholderState::kConfirmed) << "processes may still run";
  EXPECT_TRUE(plan().works.empty());
  job().phase = JobPhase::kEnded;
  job().state = "FAILED";
  job().gate->wait_status = 3 << 8;
  ASSERT_EQ(plan().works.size(), 1u);
  EXPECT_EQ(plan().works[0].exits, (std::vector<TaskEnd>{{0, 3, 0, ""}}));
  job().gate->wait_status = 0;
  job().state = "CANCELLED";
  EXPECT_EQ(plan().works[0].exits[0].signal, SIGTERM);
}

// The adapter was away for longer than slurmctld remembers its jobs.
TEST_F(GatePlanTest, TheEndOfAJobThatSlurmHasForgottenIsWhatItsAccountingSays) {
  seen.jobs.clear();
  decided();
  EXPECT_EQ(plan().gone, std::set<std::int64_t>{5});
  EXPECT_EQ(plan().reports.at(0).state, PlaceholderState::kConfirmed) << "nobody knows yet";
  EXPECT_FALSE(plan().works.at(0).has_ended);
  memory.past[5] = {"COMPLETED", 0};
  EXPECT_EQ(plan().reports.at(0).state, PlaceholderState::kEnded);
  EXPECT_EQ(plan().works.at(0).exits, (std::vector<TaskEnd>{{0, 0, 0, ""}}));
  memory.past[5] = {"FAILED", 3 << 8};
  EXPECT_EQ(plan().works.at(0).exits, (std::vector<TaskEnd>{{0, 3, 0, ""}}));
  memory.past[5] = {"TIMEOUT", 0};
  EXPECT_EQ(plan().works.at(0).exits, (std::vector<TaskEnd>{{0, 0, SIGTERM, ""}}));
  memory.past[5] = {"NODE_FAIL", 0};
  EXPECT_EQ(plan().works.at(0).exits.at(0).cause, "node_failed: NODE_FAIL");
  memory.past[5] = {};
  EXPECT_EQ(plan().works.at(0).exits.at(0).cause,
            "end_unknown: Slurm has no job 5 any more, and no accounting of its end");
  memory.past.clear();
  decided(/*stop=*/true);
  EXPECT_TRUE(plan().gone.empty()) << "it was to end";
  EXPECT_TRUE(plan().works.at(0).has_ended);
  works.clear();
  EXPECT_EQ(plan().reports.at(0).state, PlaceholderState::kRefused) << "it had not begun";
}

TEST_F(GatePlanTest, AJobThatWaitsAgainIsAsLost) {
  let_go();
  decided();
  job().gate->is_held = true;
  job().gate->restarts = 1;
  ASSERT_EQ(plan().works.size(), 1u);
  EXPECT_EQ(plan().works[0].exits[0].cause, "executor_lost");
  EXPECT_TRUE(plan().fences.empty());
}

TEST_F(GatePlanTest, AJobThatIsStoppedBeforeItBeginsIsHeldBeforeItIsSaidToBeOver) {
  let_go();
  decided(true, true);
  GatePlan now = plan();
  ASSERT_EQ(now.put_back.size(), 1u);
  EXPECT_TRUE(now.works.empty()) << "it may begin on its devices just now";
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kAsked);
  job().mark = now.put_back[0].mark;
  job().gate->is_held = true;
  now = plan();
  EXPECT_TRUE(now.put_back.empty());
  ASSERT_EQ(now.works.size(), 1u);
  EXPECT_TRUE(now.works[0].has_ended);
  EXPECT_EQ(now.reports[0].state, PlaceholderState::kEnded);
}

TEST_F(GatePlanTest, StoppedJobsEndOrWaitAgain) {
  starts({2});
  decided(/*stop=*/true);
  EXPECT_EQ(plan().cancel, std::vector<std::int64_t>{5});
  decided(/*stop=*/true, /*put_back=*/true);
  EXPECT_TRUE(plan().cancel.empty());
  ASSERT_EQ(plan().put_back.size(), 1u);
  EXPECT_TRUE(plan().put_back[0].is_warned) << "it was running well";
}

TEST_F(GatePlanTest, AStoppedAttemptEndsWhenNothingIsWantedOfIt) {
  starts({2});
  wanted.clear();
  decided();
  EXPECT_TRUE(plan().works.empty()) << "it is not stopped";
  decided(/*stop=*/true);
  EXPECT_TRUE(plan().works.empty()) << "it holds what it was given";
  EXPECT_EQ(plan().cancel, std::vector<std::int64_t>{5});
  job().phase = JobPhase::kEnded;
  ASSERT_EQ(plan().works.size(), 1u);
  EXPECT_TRUE(plan().works[0].has_ended);
  seen.jobs.clear();
  EXPECT_EQ(plan().works.size(), 1u);
}

TEST_F(GatePlanTest, TheLedgerIsToldWhatItCannotPlace) {
  EXPECT_EQ(why_not_placed(job()), "");
  job().gate->nodes_wanted = "n[1-2]";
  EXPECT_NE(why_not_placed(job()), "");
  job().mark = "dovetail-gate nodes=-";  // they were the ledger's own
  EXPECT_EQ(why_not_placed(job()), "");
  job().gate->features = "a&(b|c)";
  EXPECT_EQ(why_not_placed(job()), "");
  job().gate->features = "[a|b]";
  EXPECT_EQ(why_not_placed(job()), "");
  for (const char* features : {"a*2&b*4", "[a*2&b*1]", "[a&b]"}) {
    job().gate->features = features;
    EXPECT_NE(why_not_placed(job()).find("--constraint"), std::string::npos) << features;
  }
}

// Slurm gives it the devices that it asked for; the ledger all of the node.
TEST_F(GatePlanTest, AJobWithTheNodeToItselfIsNotKeptOffByAFence) {
  job().gate->is_exclusive = true;
  EXPECT_NE(plan().reports.at(0).why.find("less to give of n1"), std::string::npos);
  wanted[0].devices = {0, 1, 2, 3};
  EXPECT_TRUE(plan().place.empty()) << "six cores are nobody's here";
  seen.nodes[0].cores_set_aside = 6;
  EXPECT_EQ(plan().place.size(), 1u) << "nor in Slurm";
  EXPECT_TRUE(plan().fences.empty());
  starts({1});
  job().allocations[0].memory_bytes = 200 << 20;
  EXPECT_TRUE(plan().put_back.empty());
  EXPECT_EQ(plan().confirmed, std::set<std::int64_t>{5});
  EXPECT_EQ(plan().reports.at(0).devices, (std::vector<int>{0, 1, 2, 3}));
  wanted[0].devices = {0, 2};  // what was lent
  EXPECT_EQ(plan().put_back.size(), 1u);
}

TEST_F(GatePlanTest, OfARangeOfNodesItGetsTheLeast) {
  wanted[0].devices = {};
  EXPECT_EQ(plan().place.at(0).nodes_exactly, 0);
  job().gate->may_have_more_nodes = true;
  EXPECT_EQ(plan().place.at(0).nodes_exactly, 1);
}

// Slurm 22.05 gives sbatch -N2 -n4 three CPUs of the first node and one of the second.
TEST_F(GatePlanTest, EachOfItsNodesGivesAsManyCpus) {
  wanted[0].devices = {};
  job().gate->cpus = 4;
  EXPECT_EQ(plan().place.at(0).cpus_of_each, 0);
  wanted.push_back(wanted[0]);
  wanted[1].key.node = "n2";
  seen.nodes.push_back(seen.nodes[0]);
  seen.nodes[1].name = "n2";
  job().gate->nodes = 2;
  EXPECT_EQ(plan().place.at(0).cpus_of_each, 2);
  EXPECT_EQ(plan().place[0].nodes_exactly, 2);
  job().gate->nodes = 1;
  EXPECT_EQ(plan().place.at(0).nodes_exactly, 2) << "the ledger's number, whatever Slurm estimates";
  job().gate->is_exclusive = true;
  for (Wanted& one : wanted) {
    one.devices = {0, 1, 2, 3};
    one.cores.resize(64);
  }
  ASSERT_EQ(plan().place.size(), 1u);
  EXPECT_EQ(plan().place[0].cpus_of_each, 0) << "they are all its own";
}

// Slurm could take two of several free GPUs here and none on the next node.
TEST_F(GatePlanTest, AJobWhoseGpusSlurmDividesHasAllOthersFenced) {
  seen.nodes[0].devices_bound = false;
  wanted[0].devices = {0};
  EXPECT_TRUE(plan().fences.empty()) << "it gets the lowest";
  job().gate->divides_gpus = true;
  EXPECT_EQ(plan().fences.size(), 1u);
}

}  // namespace
}  // namespace dove::slurm
