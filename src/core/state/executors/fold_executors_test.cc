#include "core/state/executors/fold_executors.h"

#include <gtest/gtest.h>

#include "core/state/books.h"
#include "core/state/cluster_fixture.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/placeholders.h"
#include "core/state/findings.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// Two nodes of a Slurm that answers, and one that it does not know.
class Executors : public testing::Test {
 protected:
  Executors() {
    declare();
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }
  ~Executors() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  void declare(bool placeholders = true) {
    cluster.declare(Executor{"slurm", "", {"n[1-2]"}, placeholders, {}});
  }
  void observe(std::string id, std::vector<std::int32_t> devices, std::uint32_t node = 1) {
    ForeignAllocation allocation;
    allocation.id = std::move(id);
    allocation.cores = {0, 1};
    allocation.devices = std::move(devices);
    allocation.memory_bytes = 100;
    allocation.user = "ada";
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(node), std::move(allocation)});
  }
  void end(const std::string& id) { cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), id}); }
  void move(JobId job, PlaceholderStage to, AttemptNumber attempt = 1) {
    cluster.tell(PlaceholderMoved{"slurm", job, attempt, NodeId(1), to, "1300", "no"});
  }
  const Placeholder* placeholder(JobId job) const {
    const auto found = cluster.state.placeholders.find({job, 1, NodeId(1), "slurm"});
    return found == cluster.state.placeholders.end() ? nullptr : &found->second;
  }
  PlaceholderStage stage(JobId job) const { return placeholder(job)->stage; }

  TestCluster cluster{3, {.cores = 8, .gpus = 4, .memory_bytes = 1000}};
};

TEST_F(Executors, AForeignAllocationTakesWhatItHoldsFromWhatIsFree) {
  observe("7", {0, 2});
  const Node& node = cluster.node(1);
  EXPECT_EQ(node.device_free_milli, (std::vector<std::int32_t>{0, 1000, 0, 1000}));
  EXPECT_EQ(node.cores_free.size(), 6u);
  EXPECT_EQ(node.memory_free_bytes, 900);
  EXPECT_EQ(usable_cores(node).size(), 8u) << "a job is not refused for what may end";
  observe("7", {3});
  EXPECT_EQ(node.device_free_milli, (std::vector<std::int32_t>{1000, 1000, 1000, 0}));
  end("7");
  EXPECT_EQ(node.device_free_milli, (std::vector<std::int32_t>(4, 1000)));
  EXPECT_EQ(node.cores_free.size(), 8u);
  EXPECT_EQ(node.memory_free_bytes, 1000);
}

TEST_F(Executors, WhatIsSaidOfOtherNodesOrExecutorsChangesNothing) {
  observe("7", {0}, 3);
  cluster.tell(ForeignAllocationObserved{"k8s", NodeId(1), {}});
  cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), "unknown"});
  cluster.tell(
      PlaceholderMoved{"slurm", JobId(9), 1, NodeId(1), PlaceholderStage::kConfirmed, "", ""});
  EXPECT_FALSE(has_foreign(cluster.node(1)));
  EXPECT_FALSE(has_foreign(cluster.node(3)));
  EXPECT_TRUE(cluster.state.placeholders.empty());
}

TEST_F(Executors, ADeviceThatTwoHoldIsClosedUntilEitherEnds) {
  const JobId ours = cluster.submit_and_start({.gpus = 1});
  observe("7", {0, 1});
  ASSERT_EQ(cluster.node(1).findings.size(), 1u);
  const Finding& finding = cluster.node(1).findings[0].finding;
  EXPECT_EQ(finding_text(finding),
            "foreign of device 0: slurm job 7 of ada and job 1 of ann hold it at once");
  EXPECT_TRUE(is_available(cluster.node(1))) << "the rest of the node works on";
  EXPECT_TRUE(cluster.node(1).faults.empty()) << "no fault of the node's";
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
  cluster.end(ours);
  EXPECT_TRUE(cluster.node(1).findings.empty());
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 0) << "the other one holds it still";
  end("7");
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 1000);
}

TEST_F(Executors, AJobHoldsADeviceFromTheConfirmationOfItsRoom) {
  cluster.state.level = kFirstLevel + 1;
  const JobId ours = cluster.submit({.gpus = 1});
  cluster.launch(ours);
  ASSERT_EQ(stage(ours), PlaceholderStage::kWanted);
  observe("7", {0});
  const auto evidence = [&] { return cluster.node(1).findings.at(0).finding.evidence; };
  EXPECT_EQ(evidence(), "slurm job 7 of ada holds it, and job 1 of ann was to have it");
  move(ours, PlaceholderStage::kConfirmed);
  EXPECT_EQ(evidence(), "slurm job 7 of ada and job 1 of ann hold it at once");
  move(ours, PlaceholderStage::kGone);
  EXPECT_EQ(evidence(), "slurm job 7 of ada holds it, and job 1 of ann was to have it");
}

TEST_F(Executors, TheOtherOfTheTwoMayEndFirst) {
  const JobId ours = cluster.submit_and_start({.gpus = 1});
  observe("7", {0});
  end("7");
  EXPECT_TRUE(cluster.node(1).findings.empty());
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 0);
  cluster.end(ours);
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 1000);
}

TEST_F(Executors, OneThatIsDrainedThereClosesTheNodeUntilItIsNot) {
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDrained, "fan"});
  EXPECT_FALSE(is_available(cluster.node(1)));
  EXPECT_EQ(closing_text(*closing_executor(cluster.node(1))), "slurm: drained there (fan)");
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kUp, ""});
  EXPECT_TRUE(is_available(cluster.node(1)));
}

TEST_F(Executors, FeaturesAreThoseDeclaredAndThoseItSays) {
  NodeDeclaration declared;
  declared.name = "n1";
  declared.features = {"nvlink", "local"};
  cluster.declare(declared);
  cluster.tell(
      ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kUp, "", {"ib", "nvlink"}});
  const Node& node = cluster.node(1);
  EXPECT_EQ(features_of(node), (std::vector<std::string>{"nvlink", "local", "ib"}));
  EXPECT_TRUE(meets(node, "ib"));
  EXPECT_TRUE(meets(node, "local"));
  EXPECT_TRUE(meets(node, "h200|local"));
  EXPECT_FALSE(meets(cluster.node(2), "ib"));
}

TEST_F(Executors, NoWorkGoesWhereNoPlaceholderCanBeHad) {
  for (const auto contact : {ExecutorContact::kSilent, ExecutorContact::kMute}) {
    cluster.tell(ExecutorContactChanged{"slurm", contact, ""});
    EXPECT_FALSE(is_available(cluster.node(1)));
    EXPECT_TRUE(is_available(cluster.node(3)));
  }
  declare(false);
  EXPECT_TRUE(is_available(cluster.node(1))) << "without placeholders nobody waits for it";
}

TEST_F(Executors, APlaceholderLivesAsLongAsItsPlacement) {
  const JobId job = cluster.submit();
  cluster.launch(job);
  EXPECT_EQ(stage(job), PlaceholderStage::kWanted);
  move(job, PlaceholderStage::kAsked);
  move(job, PlaceholderStage::kConfirmed);
  EXPECT_EQ(placeholder(job)->id, "1300");
  cluster.start(job);
  cluster.end(job);
  EXPECT_EQ(stage(job), PlaceholderStage::kReleased);
  move(job, PlaceholderStage::kConfirmed);
  EXPECT_EQ(stage(job), PlaceholderStage::kReleased) << "a late answer";
  move(job, PlaceholderStage::kGone);
  EXPECT_EQ(placeholder(job), nullptr);
}

TEST_F(Executors, OnePlacementAloneWaitsForStartThere) {
  const JobId here = cluster.submit();
  const JobId elsewhere = cluster.submit();
  cluster.launch(here);
  cluster.launch(elsewhere, {3});
  cluster.tell(PlacementPrepared{here, 1, NodeId(1)});
  cluster.tell(PlacementPrepared{elsewhere, 1, NodeId(3)});
  EXPECT_EQ(cluster.job(here).attempts.back().stage, Stage::kBarrier);
  EXPECT_EQ(cluster.job(elsewhere).attempts.back().stage, Stage::kStarting);
}

TEST_F(Executors, ARefusalEndsWhatHasNotBegun) {
  const JobId job = cluster.submit();
  cluster.launch(job);
  move(job, PlaceholderStage::kRefused);
  EXPECT_EQ(cluster.job(job).attempts.back().stop_reason, StopReason::kPlaceholder);
  EXPECT_EQ(cluster.job(job).nodes_avoided, std::vector<NodeId>{NodeId(1)});
}

TEST_F(Executors, WhatRunsGoesOnWithoutItsPlaceholder) {
  const JobId job = cluster.submit_and_start();
  move(job, PlaceholderStage::kConfirmed);
  move(job, PlaceholderStage::kGone);
  EXPECT_EQ(stage(job), PlaceholderStage::kWanted) << "it is asked for again";
  move(job, PlaceholderStage::kRefused);
  EXPECT_EQ(cluster.job(job).attempts.back().stop_reason, StopReason::kNone);
}

TEST_F(Executors, EachRefusalInARowDoublesTheWait) {
  Job job;
  EXPECT_EQ(placeholder_backoff(job), seconds(1));
  for (const std::int64_t wait : {1, 2, 4, 8}) {
    job.attempts.emplace_back().stop_reason = StopReason::kPlaceholder;
    EXPECT_EQ(placeholder_backoff(job), seconds(wait));
  }
  for (int i = 0; i < 20; ++i) job.attempts.emplace_back(job.attempts.back());
  EXPECT_EQ(placeholder_backoff(job), kBackoff_max);
}

TEST_F(Executors, OneThatIsGoneHoldsNothingBack) {
  observe("7", {0});
  const JobId job = cluster.submit();
  cluster.launch(job);
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_TRUE(cluster.state.placeholders.empty());
  EXPECT_TRUE(cluster.node(1).executors.empty());
  EXPECT_EQ(cluster.node(1).device_free_milli[0], 1000);
}

TEST_F(Executors, WhatRunsWhereOneIsDeclaredGetsItsPlaceholder) {
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  const JobId job = cluster.submit_and_start();
  declare();
  EXPECT_EQ(stage(job), PlaceholderStage::kWanted);
  EXPECT_EQ(cluster.job(job).attempts.back().stage, Stage::kRunning);
}

TEST_F(Executors, AnAccountCountsInTheUseOfItsQueue) {
  cluster.declare(queue_of("research"));
  cluster.declare(queue_of("lab", "research"));
  cluster.declare(Executor{"slurm", "", {"n[1-2]"}, true, {{"biology", "lab"}}});
  ForeignAllocation one;
  one.id = "7";
  one.cores = {0, 1};
  one.devices = {0, 2};
  one.account = "biology";
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), one});
  for (const char* queue : {"lab", "research"}) {
    const Usage& usage = cluster.state.usage_by_queue[queue];
    EXPECT_EQ(usage.cores, 2);
    EXPECT_EQ(usage.gpus_milli, 2000);
  }
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
  cluster.pass(seconds(100));
  one.account = "other";
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), one});
  EXPECT_EQ(cluster.state.usage_by_queue["lab"].gpus_milli, 0);
  EXPECT_GT(cluster.state.past_by_queue["lab"].amount, 0);
  cluster.declare(Executor{"slurm", "", {"n[1-2]"}, true, {{"other", "default"}}});
  EXPECT_EQ(cluster.state.usage_by_queue["default"].gpus_milli, 2000);
  cluster.declare(queue_of("lab"));
  EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt);
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_EQ(cluster.state.usage_by_queue["default"].gpus_milli, 0);
}

TEST_F(Executors, ANodeThatJoinsLaterIsTheirsToo) {
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  cluster.declare(Executor{"slurm", "", {"n[1-9]"}, true, {}});
  cluster.add_node({});
  EXPECT_EQ(cluster.node(4).executors.size(), 1u);
}

// A program of the first level knows nothing of what is to come, and has to find the same state.
TEST_F(Executors, WhatIsKeptForLaterIsHeldAtOnceInALogOfTheFirstLevel) {
  ASSERT_EQ(cluster.state.level, kFirstLevel);
  ForeignAllocation kept;
  kept.id = "reservation:course";
  kept.cores = {6, 7};
  kept.devices = {1};
  kept.memory_bytes = 100;
  kept.started_at = cluster.state.now + seconds(60);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), kept});
  const Node& node = cluster.node(1);
  EXPECT_EQ(node.cores_free.size(), 6u);
  EXPECT_EQ(node.device_free_milli, (std::vector<std::int32_t>{1000, 0, 1000, 1000}));
  EXPECT_EQ(node.memory_free_bytes, 900);
  EXPECT_FALSE(has_to_come(node));
  observe("7", {1});
  EXPECT_TRUE(is_device_closed(node, 1)) << "two hold it at once";
  cluster.tell(LevelRaised{kNewestLevel});
  EXPECT_TRUE(has_to_come(node));
  EXPECT_EQ(node.cores_free.size(), 6u) << "those of the other one";
  EXPECT_EQ(node.memory_free_bytes, 900);
  EXPECT_FALSE(is_device_closed(node, 1));
  end("7");
  EXPECT_EQ(node.cores_free.size(), 8u);
  EXPECT_EQ(node.device_free_milli, (std::vector<std::int32_t>(4, 1000)));
}

}  // namespace
}  // namespace dove::core
