#include "core/executors/sync.h"

#include <gtest/gtest.h>

#include "core/place/candidates.h"
#include "core/state/cluster_fixture.h"
#include "core/state/executors/foreign.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// An adapter that tells what it is given to tell, and the ledger that folds what is new of it.
class Sync : public testing::Test {
 protected:
  Sync() {
    cluster.declare(executor);
    tell({});
  }
  ~Sync() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  // The number of events that it came to.
  std::size_t tell(const Observation& said) {
    const std::vector<Event> events = news(cluster.state, executor, said);
    for (const Event& event : events) cluster.tell(event);
    EXPECT_TRUE(news(cluster.state, executor, said).empty()) << "said twice, nothing is new";
    return events.size();
  }
  static Observation running(std::initializer_list<const char*> ids) {
    Observation said;
    for (const char* id : ids) {
      SaidAllocation& one = said.allocations.emplace_back();
      one.node = "n1";
      one.allocation.id = id;
      one.allocation.devices = {0};
    }
    return said;
  }
  static Observation holding(JobId job, PlaceholderStage stage,
                             std::vector<std::int32_t> devices = {}) {
    Observation said;
    said.placeholders.push_back({job, 1, "n1", "1300", stage, "", std::move(devices)});
    return said;
  }
  PlaceholderStage stage(JobId job) const {
    return cluster.state.placeholders.at({job, 1, NodeId(1), "slurm"}).stage;
  }
  std::size_t foreign() const { return cluster.node(1).executors[0].foreign.size(); }
  std::uint64_t version_now() const { return wanted(cluster.state, "slurm").version; }
  std::size_t wanted_now() const { return wanted(cluster.state, "slurm").placeholders.size(); }

  TestCluster cluster{2, {.gpus = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {}};
};

TEST_F(Sync, WhatIsNotSaidAnyMoreHasEnded) {
  EXPECT_EQ(tell(running({"7", "8"})), 2u);
  EXPECT_EQ(tell(running({"8"})), 1u);
  EXPECT_EQ(foreign(), 1u);
  EXPECT_EQ(tell(running({})), 1u);
  EXPECT_EQ(foreign(), 0u);
}

TEST_F(Sync, AnIncompleteObservationEndsNothing) {
  const JobId job = cluster.submit();
  cluster.launch(job);
  tell(running({"7"}));
  Observation both = running({"7"});
  both.placeholders = holding(job, PlaceholderStage::kConfirmed).placeholders;
  tell(both);
  Observation nothing;
  nothing.complete = false;
  tell(nothing);
  EXPECT_EQ(foreign(), 1u);
  EXPECT_EQ(stage(job), PlaceholderStage::kConfirmed);
  EXPECT_EQ(cluster.node(1).executors[0].contact, ExecutorContact::kMute);
  tell(both);
  EXPECT_EQ(cluster.node(1).executors[0].contact, ExecutorContact::kAnswering);
}

TEST_F(Sync, ItIsSaidToAnswerOnlyWithWhatItRuns) {
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kSilent, ""});
  const std::vector<Event> events = news(cluster.state, executor, running({"7"}));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ExecutorContactChanged>(events.back()));
}

TEST_F(Sync, OtherNodesAreNotItsOwn) {
  Observation said = running({"7"});
  said.allocations[0].node = "n2";
  said.allocations.push_back({"nobody", {}});
  said.nodes = {{"n1", ExecutorNodeState::kUp, ""}, {"n2", ExecutorNodeState::kDown, ""}};
  EXPECT_EQ(tell(said), 0u);
}

TEST_F(Sync, AReservationOfItsNodesIsOneHereAndLetsInNobody) {
  Observation said;
  said.reservations = {{"course", {"n[1-2]"}, cluster.state.now, cluster.state.now + seconds(60)}};
  EXPECT_EQ(tell(said), 1u);
  const Reservation& course = cluster.state.reservations.at("slurm:course");
  EXPECT_EQ(course.nodes, std::vector<std::string>{"n1"}) << "n2 is not its own";
  EXPECT_FALSE(course.outage) << "it stops nothing that runs";
  EXPECT_EQ(tell(said), 0u);
  said.reservations[0].ends_at = cluster.state.now + seconds(90);
  EXPECT_EQ(tell(said), 1u);
  said.complete = false;
  said.reservations.clear();
  tell(said);
  EXPECT_TRUE(cluster.state.reservations.contains("slurm:course")) << "not all was said";
  said.complete = true;
  tell(said);
  EXPECT_TRUE(cluster.state.reservations.empty());
}

TEST_F(Sync, AReservationThatPeopleKeepIsNotItsOwn) {
  Reservation ours;
  ours.name = "slurm";
  ours.nodes = {"n1"};
  cluster.declare(ours);
  tell({});
  EXPECT_TRUE(cluster.state.reservations.contains("slurm"));
}

TEST_F(Sync, FeaturesAreNewsOnce) {
  Observation said;
  said.nodes = {{"n1", ExecutorNodeState::kUp, "", {"ib"}}};
  EXPECT_EQ(tell(said), 0u) << "the log of a former level cannot hold them";
  cluster.tell(LevelRaised{kNewestLevel});
  EXPECT_EQ(tell(said), 1u);
  EXPECT_EQ(tell(said), 0u);
  EXPECT_TRUE(meets(cluster.node(1), "ib"));
  said.nodes[0].features = {};
  EXPECT_EQ(tell(said), 1u);
  EXPECT_FALSE(meets(cluster.node(1), "ib"));
}

TEST_F(Sync, WhatIsClosedHereIsToGetNothingNewThere) {
  const auto drains = [&] { return wanted(cluster.state, "slurm").drains; };
  const std::uint64_t open = version_now();
  EXPECT_TRUE(drains().empty());
  Observation drained_there;
  drained_there.nodes = {{"n1", ExecutorNodeState::kDrained, "fan"}};
  tell(drained_there);
  EXPECT_TRUE(drains().empty()) << "it knows that itself";
  tell({});
  cluster.tell(FindingReported{NodeId(1), {"ecc", Severity::kFault, Remedy::kReset, -1, "57"}});
  ASSERT_EQ(drains().size(), 1u);
  EXPECT_EQ(drains()[0].node->name, "n1");
  EXPECT_NE(drains()[0].why.find("57"), std::string::npos) << drains()[0].why;
  EXPECT_NE(version_now(), open) << "so that a waiting call is answered";
  cluster.tell(FindingReported{NodeId(1), {"ecc", Severity::kGood, Remedy::kNone, -1, ""}});
  EXPECT_TRUE(drains().empty());
  for (const char* name : {"n1", "n2"}) {  // n2 is not the executor's
    NodeDeclaration drained;
    drained.name = name;
    drained.drained = true;
    drained.drain_reason = "new fan";
    cluster.declare(drained);
  }
  ASSERT_EQ(drains().size(), 1u);
  EXPECT_EQ(drains()[0].why, "new fan");
}

TEST_F(Sync, WhatIsWantedGoesWithThePlacement) {
  const std::uint64_t none = version_now();
  const JobId job = cluster.submit({.gpus = 2});
  cluster.launch(job);
  const Wanted now = wanted(cluster.state, "slurm");
  const auto& list = now.placeholders;
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].node->name, "n1");
  EXPECT_EQ(list[0].placement->devices.size(), 2u);
  EXPECT_NE(now.version, none);
  tell(holding(job, PlaceholderStage::kConfirmed, {0, 1}));
  EXPECT_EQ(wanted_now(), 1u) << "as long as it runs";
  cluster.start(job);
  cluster.end(job);
  EXPECT_EQ(version_now(), none);
}

TEST_F(Sync, OneThatIsReleasedIsForgottenOnceItIsGone) {
  const JobId job = cluster.submit_and_start();
  tell(holding(job, PlaceholderStage::kConfirmed));
  cluster.end(job);
  EXPECT_EQ(tell(holding(job, PlaceholderStage::kConfirmed)), 0u);
  EXPECT_EQ(tell({}), 1u);
  EXPECT_TRUE(cluster.state.placeholders.empty());
}

TEST_F(Sync, OneThatIsLostIsWantedAgain) {
  const JobId job = cluster.submit_and_start();
  const auto id = [&] { return wanted(cluster.state, "slurm").placeholders.at(0).id; };
  tell(holding(job, PlaceholderStage::kConfirmed));
  EXPECT_EQ(id(), "1300") << "by that the executor was last heard to hold it";
  tell({});
  EXPECT_EQ(stage(job), PlaceholderStage::kWanted);
  EXPECT_EQ(id(), "");
  EXPECT_EQ(wanted_now(), 1u);
}

TEST_F(Sync, OtherDevicesThanWereAskedForAreARefusal) {
  const JobId job = cluster.submit({.gpus = 1});
  cluster.launch(job);
  Observation said = holding(job, PlaceholderStage::kConfirmed, {3});
  const std::vector<Event> events = news(cluster.state, executor, said);
  ASSERT_EQ(events.size(), 1u);
  const auto& moved = std::get<PlaceholderMoved>(events[0]);
  EXPECT_EQ(moved.to, PlaceholderStage::kRefused);
  EXPECT_EQ(moved.why, "it was given the devices [3] instead of [0]");
  cluster.tell(moved);
  EXPECT_EQ(wanted_now(), 0u) << "the attempt ends: it is not asked for again";
}

TEST_F(Sync, CoresAreSaidByNumbersOfTheExecutor) {
  Inventory threads = *cluster.node(1).inventory;
  threads.numa[0].cores = {0, 1, 2, 3};
  threads.thread_order = {0, 2, 1, 3};
  threads.threads_per_core = 2;
  NodeRegistered again;
  again.name = "n1";
  again.boot_id = "boot";
  again.inventory = std::make_shared<const Inventory>(threads);
  cluster.tell(again);
  cluster.tell(NodeConnected{NodeId(1), "boot"});
  const JobId job = cluster.submit({.cores = 1});
  cluster.launch(job);
  Observation said = holding(job, PlaceholderStage::kConfirmed);
  said.placeholders[0].cores = {1};
  SaidAllocation& other = said.allocations.emplace_back();
  other.node = "n1";
  other.allocation.id = "7";
  other.allocation.cores = {0};
  tell(said);
  const Placement& place = cluster.job(job).attempts.back().placements[0].placement;
  EXPECT_EQ(place.cores, CoreSet{1});
  EXPECT_EQ(foreign_cores(cluster.node(1)), (CoreSet{0, 2}));
  EXPECT_EQ(cluster.node(1).cores_free, CoreSet{3}) << "of the placeholder's own core";
}

TEST_F(Sync, AVersionIsOfItsEpoch) {
  const std::uint64_t before = version_now();
  EXPECT_TRUE(is_of_this_epoch(cluster.state, before));
  EXPECT_FALSE(is_of_this_epoch(cluster.state, 0));
  EXPECT_LT(before, std::uint64_t{1} << 53);
  begin_batch(cluster.state, cluster.state.now, Epoch(2));
  EXPECT_FALSE(is_of_this_epoch(cluster.state, before));
  EXPECT_NE(version_now(), before);
}

TEST_F(Sync, WhatANodeIsThereIsSaidOnce) {
  Observation said;
  said.nodes = {{"n1", ExecutorNodeState::kDrained, "fan"}};
  EXPECT_EQ(tell(said), 1u);
  EXPECT_EQ(tell({}), 0u) << "a node that is not named stays as it was";
  EXPECT_NE(closing_executor(cluster.node(1)), nullptr);
}

// An executor that runs a job of ours on n1, and our agent's own work beside it.
class RunBy : public Sync {
 protected:
  RunBy() {
    Executor runs = executor;
    runs.placeholders = false;
    runs.runs_jobs = true;
    cluster.declare(runs);
    JobSpec spec = spec_of({.gpus = 1});
    spec.executor = "slurm";
    job = cluster.submit(spec);
    cluster.launch(job);
  }
  Observation works(bool has_ended, std::vector<TaskExit> exits = {}, std::string why = "") const {
    Observation said = holding(job, PlaceholderStage::kConfirmed, {0});
    said.works.push_back({job, 1, "n1", has_ended, std::move(exits), 0, 0, std::move(why)});
    return said;
  }
  // Confirmed, and started by decision.
  void begin() {
    tell(holding(job, PlaceholderStage::kConfirmed, {0}));
    cluster.decided(Start{job, 1});
  }
  const Attempt& attempt() const { return cluster.job(job).attempts.back(); }
  PlacementStage placement() const { return attempt().placements[0].stage; }
  std::vector<WantedWork> works_now() const { return wanted(cluster.state, "slurm").works; }

  JobId job;
};

TEST_F(RunBy, AConfirmedPlaceholderPreparesAndNothingElseDoes) {
  EXPECT_EQ(wanted_now(), 1u) << "also of an executor that holds none for others";
  EXPECT_EQ(cluster.state.placeholders.size(), 1u);
  tell(holding(job, PlaceholderStage::kAsked));
  EXPECT_EQ(attempt().stage, Stage::kPreparing);
  EXPECT_TRUE(works_now().empty());
  tell(holding(job, PlaceholderStage::kConfirmed, {0}));
  EXPECT_EQ(attempt().stage, Stage::kBarrier);
}

TEST_F(RunBy, OthersOnTheNodeNeedNoPlaceholder) {
  const JobId ours = cluster.submit({.gpus = 1});
  cluster.launch(ours);
  EXPECT_EQ(cluster.state.placeholders.size(), 1u);
  EXPECT_FALSE(cluster.job(ours).attempts.back().held_back);
}

TEST_F(RunBy, ItIsToldToStartAndToStopIt) {
  tell(works(false));
  EXPECT_EQ(placement(), PlacementStage::kPrepared) << "nobody decided that it starts";
  cluster.decided(Start{job, 1});
  ASSERT_EQ(works_now().size(), 1u);
  EXPECT_FALSE(works_now()[0].has_started);
  tell(works(false));
  EXPECT_EQ(attempt().stage, Stage::kRunning);
  EXPECT_TRUE(works_now()[0].has_started);
  const std::uint64_t before = version_now();
  cluster.decided(Stop{job, 1, StopReason::kCancelled});
  EXPECT_TRUE(works_now()[0].stops);
  EXPECT_NE(version_now(), before) << "so that a waiting call is answered";
  tell(works(true, {{0, 0, 15, ""}}));
  EXPECT_EQ(placement(), PlacementStage::kEnded);
  EXPECT_TRUE(works_now().empty());
  EXPECT_EQ(wanted_now(), 0u) << "its allocation is to go";
}

TEST_F(RunBy, ExitsAreTakenOnce) {
  begin();
  tell(works(false, {{0, 3, 0, ""}}));
  tell(works(true, {{0, 3, 0, ""}}));
  ASSERT_EQ(attempt().exits.size(), 1u);
  EXPECT_EQ(attempt().exits[0].exit_code, 3);
}

TEST_F(RunBy, WhatEndedBeforeAnybodyLookedHasStarted) {
  begin();
  tell(works(true, {{0, 0, 0, ""}}));
  EXPECT_EQ(placement(), PlacementStage::kEnded);
  EXPECT_GT(attempt().started_at.us, 0);
}

TEST_F(RunBy, OfWhatEndedBeforeAnybodyLookedTheOthersAreLost) {
  begin();
  tell(works(true, {{1, 0, 0, ""}}));
  EXPECT_EQ(attempt().exits.back().cause, "executor_lost");
}

TEST_F(RunBy, WhatCouldNotBeginIsAFailedLaunch) {
  begin();
  tell(works(true, {}, "there is no user ann there"));
  EXPECT_EQ(attempt().stop_reason, StopReason::kLaunchFailed);
  EXPECT_EQ(placement(), PlacementStage::kEnded);
}

TEST_F(RunBy, WithoutAWordItIsLost) {
  begin();
  tell(works(false));
  Observation silent;
  silent.complete = false;
  tell(silent);
  EXPECT_EQ(placement(), PlacementStage::kStarted);
  tell({});
  EXPECT_EQ(placement(), PlacementStage::kEnded);
  ASSERT_EQ(attempt().exits.size(), 1u);
  EXPECT_EQ(attempt().exits[0].cause, "executor_lost");
}

TEST_F(RunBy, WhatMayHaveBegunInAnAllocationThatIsGoneIsNotBegunAgain) {
  begin();
  tell(holding(job, PlaceholderStage::kGone));
  EXPECT_EQ(placement(), PlacementStage::kEnded);
  EXPECT_TRUE(works_now().empty());
}

TEST_F(RunBy, AnAllocationThatIsLostBeforeTheStartIsAskedForAgain) {
  tell(holding(job, PlaceholderStage::kConfirmed, {0}));
  tell({});
  EXPECT_EQ(placement(), PlacementStage::kPrepared);
  EXPECT_EQ(stage(job), PlaceholderStage::kWanted);
}

TEST_F(RunBy, TheSilenceOfOurAgentEndsNothing) {
  begin();
  tell(works(false));
  cluster.tell(NodeDisconnected{NodeId(1), true});
  cluster.decided(DeclareNodeLost{NodeId(1)});
  EXPECT_EQ(placement(), PlacementStage::kStarted);
  tell(works(true, {{0, 0, 0, ""}}));
  EXPECT_EQ(placement(), PlacementStage::kEnded);
}

TEST_F(RunBy, ItsOwnAllocationIsNotForeign) {
  Observation said = holding(job, PlaceholderStage::kConfirmed, {0});
  said.allocations = running({"1300", "7"}).allocations;
  tell(said);
  tell(said);
  EXPECT_EQ(foreign(), 1u);
}

// n3 is the executor's, and no agent of ours is there: 8 cores and 2 GPUs.
class Agentless : public Sync {
 protected:
  Agentless() {
    executor.nodes = {"n[1-4]"};
    executor.runs_jobs = true;
    cluster.declare(executor);
  }
  static Observation here(std::size_t gpus = 2, const char* name = "n3") {
    Inventory inventory;
    inventory.memory_bytes = std::int64_t{64} << 30;
    NumaNode& numa = inventory.numa.emplace_back();
    numa.memory_bytes = inventory.memory_bytes;
    for (std::int32_t core = 0; core < 8; ++core) numa.cores.insert(core);
    inventory.devices.resize(gpus);
    SaidNode node;
    node.name = name;
    node.inventory = std::make_shared<const Inventory>(inventory);
    Observation said;
    said.nodes.push_back(node);
    return said;
  }
  void hear(const Observation& said) {
    for (const Event& event : news(cluster.state, executor, said)) cluster.tell(event);
  }
  const Node& n3() const { return cluster.node(3); }
  JobSpec spec(const char* name = "slurm") const {
    JobSpec made = spec_of({});
    made.executor = name;
    return made;
  }
};

TEST_F(Agentless, TheExecutorBringsItsNode) {
  Observation said = here();
  said.allocations = running({"7"}).allocations;
  said.allocations[0].node = "n3";
  hear(said);
  ASSERT_EQ(cluster.state.nodes.size(), 3u);
  EXPECT_EQ(n3().backend, "slurm");
  EXPECT_EQ(n3().device_free_milli.size(), 2u);
  EXPECT_FALSE(takes_jobs(n3().executors.at(0))) << "what runs there is not known yet";
  hear(said);
  EXPECT_TRUE(takes_jobs(n3().executors.at(0)));
  EXPECT_EQ(n3().contact, Contact::kConnected);
  EXPECT_EQ(n3().executors.at(0).foreign.size(), 1u);
  EXPECT_EQ(n3().device_free_milli[0], 0) << "the foreign job has it";
  EXPECT_TRUE(news(cluster.state, executor, said).empty()) << "said twice, nothing is new";
  hear(here(1));
  EXPECT_EQ(n3().inventory->devices.size(), 1u) << "one was taken out";
}

TEST_F(Agentless, OnlyWhatTheExecutorRunsGoesThere) {
  hear(here());
  hear(here());
  EXPECT_TRUE(allows(spec(), n3()));
  EXPECT_FALSE(allows(spec(""), n3())) << "no agent would start it";
  EXPECT_TRUE(allows(spec(""), cluster.node(1)));
}

TEST_F(Agentless, ItBringsNeitherOthersNodesNorThoseOfAgents) {
  hear(here(2, "n5"));
  EXPECT_EQ(cluster.state.nodes.size(), 2u) << "it is not declared for n5";
  hear(here(2, "n1"));
  EXPECT_EQ(cluster.node(1).device_free_milli.size(), 4u) << "the agent there knows better";
  EXPECT_EQ(cluster.node(1).backend, "native");
}

TEST_F(Agentless, ItStaysThroughAStartOfTheControllerAsLongAsItIsDeclared) {
  hear(here());
  hear(here());
  cluster.tell(ControllerStarted{});
  EXPECT_EQ(n3().contact, Contact::kConnected) << "nobody calls from there";
  EXPECT_FALSE(n3().awaited);
  executor.nodes = {"n[1-2]"};
  cluster.declare(executor);
  EXPECT_TRUE(n3().removed);
  hear(here());
  EXPECT_TRUE(n3().removed);
  executor.nodes = {"n[1-3]"};
  cluster.declare(executor);
  hear(here());
  EXPECT_FALSE(n3().removed);
  EXPECT_EQ(n3().contact, Contact::kConnected);
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_TRUE(n3().removed);
}

TEST_F(Agentless, AnAgentThatComesSpeaksForIt) {
  hear(here());
  hear(here());
  NodeRegistered agent;
  agent.name = "n3";
  agent.boot_id = "boot";
  agent.inventory = n3().inventory;
  cluster.tell(agent);
  EXPECT_EQ(n3().backend, "native");
  EXPECT_EQ(n3().contact, Contact::kSilent) << "until it connects";
  EXPECT_TRUE(news(cluster.state, executor, here(1)).empty()) << "now the agent's word counts";
}

}  // namespace
}  // namespace dove::core
