#include "core/state/executors/placeholders.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// A job on n1 and n2, which a Slurm shares that wants placeholders.
class PlaceholdersTest : public testing::Test {
 protected:
  PlaceholdersTest() {
    cluster.declare(Executor{"slurm", "", {"n[1-2]"}, true, {}});
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
    job = cluster.submit({.tasks = 2});
    cluster.launch(job, {1, 2});
  }
  PlaceholderKey key(std::uint32_t number, AttemptNumber attempt = 1) const {
    return {job, attempt, NodeId(number), "slurm"};
  }
  Placeholder& on(std::uint32_t number) { return cluster.state.placeholders.at(key(number)); }
  bool confirmed() const {
    return placeholders_confirmed(cluster.state, job, cluster.job(job).attempts.back());
  }
  // A job whose attempts ended so, the oldest first.
  static Job after(const std::vector<StopReason>& reasons) {
    Job made;
    for (const StopReason reason : reasons) made.attempts.emplace_back().stop_reason = reason;
    return made;
  }

  TestCluster cluster{3};
  JobId job;
};

constexpr StopReason kRefused = StopReason::kPlaceholder;

TEST_F(PlaceholdersTest, AreConfirmedWhenAllAre) {
  EXPECT_FALSE(confirmed());
  on(1).stage = PlaceholderStage::kConfirmed;
  EXPECT_FALSE(confirmed());
  for (const PlaceholderStage stage :
       {PlaceholderStage::kConfirmed, PlaceholderStage::kReleased, PlaceholderStage::kGone}) {
    on(2).stage = stage;
    EXPECT_TRUE(confirmed());
  }
  for (const PlaceholderStage stage :
       {PlaceholderStage::kWanted, PlaceholderStage::kAsked, PlaceholderStage::kRefused}) {
    on(2).stage = stage;
    EXPECT_FALSE(confirmed());
  }
}

TEST_F(PlaceholdersTest, ThoseOfOtherJobsAndAttemptsAreNotAsked) {
  cluster.launch(cluster.submit(), {1});
  cluster.state.placeholders[key(1, 2)].stage = PlaceholderStage::kRefused;
  on(1).stage = on(2).stage = PlaceholderStage::kConfirmed;
  EXPECT_TRUE(confirmed());
}

TEST_F(PlaceholdersTest, WithoutExecutorsNothingIsAwaited) {
  TestCluster alone(1);
  const JobId id = alone.submit();
  alone.launch(id);
  EXPECT_TRUE(placeholders_confirmed(alone.state, id, alone.job(id).attempts.back()));
}

TEST_F(PlaceholdersTest, APlacementIsFoundInTheCurrentAttemptOnly) {
  const PlacementRecord* found = placement_of(cluster.state, key(2));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->placement->node, NodeId(2));
  EXPECT_EQ(placement_of(cluster.state, key(3)), nullptr) << "it is not there";
  EXPECT_EQ(placement_of(cluster.state, key(1, 2)), nullptr);
  EXPECT_EQ(placement_of(cluster.state, {cluster.submit(), 1, NodeId(1), "slurm"}), nullptr);
  EXPECT_EQ(placement_of(cluster.state, {JobId(99), 1, NodeId(1), "slurm"}), nullptr);
}

TEST_F(PlaceholdersTest, ADeviceOfWhichItHasSeveralPartsIsNamedOnce) {
  Placement placement;
  EXPECT_TRUE(devices_of(placement).empty());
  placement.devices = {{0}, {2}, {2}, {3}};
  EXPECT_EQ(devices_of(placement), (std::vector<std::int32_t>{0, 2, 3}));
}

TEST_F(PlaceholdersTest, EachRefusalInARowDoublesTheWait) {
  EXPECT_EQ(placeholder_backoff(after({})), seconds(1));
  EXPECT_EQ(placeholder_backoff(after({kRefused})), seconds(1));
  EXPECT_EQ(placeholder_backoff(after({kRefused, kRefused, kRefused})), seconds(4));
  EXPECT_EQ(placeholder_backoff(after({kRefused, StopReason::kNone, kRefused})), seconds(1));
  EXPECT_EQ(placeholder_backoff(after(std::vector(9, kRefused))), kBackoff_max);
  EXPECT_EQ(placeholder_backoff(after(std::vector(100, kRefused))), kBackoff_max);
}

TEST_F(PlaceholdersTest, AfterRoomThatWasMadeInVainItIsLonger) {
  EXPECT_EQ(room_backoff(after({kRefused})), kRoomBackoff_min);
  EXPECT_EQ(room_backoff(after({kRefused, kRefused})), seconds(1200));
  EXPECT_EQ(room_backoff(after(std::vector(5, kRefused))), kRoomBackoff_max);
}

TEST_F(PlaceholdersTest, AnExecutorThatWantsNoneHoldsOneForTheJobsThatItRuns) {
  NodeExecutor executor{"slurm"};
  JobSpec spec;
  EXPECT_FALSE(holds_for(executor, spec));
  spec.executor = "slurm";
  EXPECT_TRUE(holds_for(executor, spec));
  executor.placeholders = true;
  spec.executor = "";
  EXPECT_TRUE(holds_for(executor, spec));
}

TEST_F(PlaceholdersTest, WantedAgainTheyStayAsTheyAre) {
  on(1).stage = PlaceholderStage::kConfirmed;
  EXPECT_TRUE(want_placeholders(cluster.state, cluster.node(1), job, 1));
  EXPECT_EQ(on(1).stage, PlaceholderStage::kConfirmed);
  EXPECT_TRUE(want_placeholders(cluster.state, cluster.node(1), job, 2));
  EXPECT_EQ(cluster.state.placeholders.at(key(1, 2)).stage, PlaceholderStage::kWanted);
  EXPECT_FALSE(want_placeholders(cluster.state, cluster.node(3), job, 1)) << "no executor";
}

TEST_F(PlaceholdersTest, ReleasedAreThoseOfOnePlacement) {
  cluster.pass(seconds(5));
  release_placeholders(cluster.state, job, 1, NodeId(1));
  EXPECT_EQ(on(1).stage, PlaceholderStage::kReleased);
  EXPECT_EQ(on(1).since, cluster.state.now);
  EXPECT_EQ(on(2).stage, PlaceholderStage::kWanted);
}

}  // namespace
}  // namespace dove::core
