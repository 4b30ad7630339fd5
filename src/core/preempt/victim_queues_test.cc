#include "core/preempt/victim_queues.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// The cluster has 8 GPUs. Queues "a" and "b" are beside each other, "a1" and "a2" below "a".
class VictimQueuesTest : public testing::Test {
 protected:
  VictimQueuesTest() {
    declare("a");
    declare("b");
    declare("a1", "a");
    declare("a2", "a");
  }

  void declare(const std::string& name, const std::string& parent = "",
               std::int64_t guaranteed_gpus = 0, std::int32_t band = 0) {
    Queue queue = queue_of(name, parent);
    queue.guaranteed.gpus_milli = guaranteed_gpus * 1000;
    queue.band = band;
    cluster.declare(queue);
  }
  JobId runs(const std::string& queue, std::int32_t gpus) {
    return cluster.submit_and_start({.cores = 0, .gpus = gpus, .queue = queue});
  }
  JobId waits(const std::string& queue, std::int32_t gpus, std::int32_t priority = 0) {
    return cluster.submit({.cores = 0, .gpus = gpus, .queue = queue, .priority = priority});
  }
  VictimQueues queues(JobId beneficiary, const std::vector<JobId>& stopping = {}) {
    return VictimQueues(cluster.state, cluster.job(beneficiary), stopping);
  }
  static Amount gpus(std::int64_t count) {
    Amount amount;
    amount.gpus_milli = count * 1000;
    return amount;
  }

  TestCluster cluster{1, {.gpus = 8}};
};

TEST_F(VictimQueuesTest, BandsComeBeforePriorities) {
  declare("b", "", 0, /*band=*/1);
  const JobId low = waits("a1", 1, 100);
  const JobId high = waits("b", 1);
  VictimQueues it = queues(high);
  EXPECT_LT(it.level(cluster.job(low)), it.level(cluster.job(high)));
  EXPECT_LT(it.level(cluster.job(waits("a2", 1))), it.level(cluster.job(low)))
      << "within a band the priority decides";
}

TEST_F(VictimQueuesTest, QueuesArePartedBelowTheirCommonParent) {
  const JobId beneficiary = waits("a1", 1);
  VictimQueues it = queues(beneficiary);
  EXPECT_TRUE(it.is_apart(cluster.job(runs("a2", 1))));
  EXPECT_TRUE(it.is_apart(cluster.job(runs("b", 1))));
  EXPECT_FALSE(it.is_apart(cluster.job(runs("a1", 1))));
}

TEST_F(VictimQueuesTest, AVictimsQueueKeepsWhatItIsGuaranteedAlsoOverSeveralQuestions) {
  declare("b", "", /*guaranteed_gpus=*/4);
  const JobId first = runs("b", 2);
  const JobId second = runs("b", 3);
  VictimQueues it = queues(waits("a1", 4));
  EXPECT_FALSE(it.keeps_guaranteed(cluster.job(first), gpus(2))) << "of 5 only 3 would be left";
  EXPECT_TRUE(it.keeps_guaranteed(cluster.job(second), gpus(1)));
  it.lose(cluster.job(second), gpus(1));
  EXPECT_FALSE(it.keeps_guaranteed(cluster.job(second), gpus(1)));
}

TEST_F(VictimQueuesTest, WhatIsGuaranteedAboveTheCommonParentIsBothsOwn) {
  declare("a", "", /*guaranteed_gpus=*/2);
  const JobId victim = runs("a2", 2);
  EXPECT_TRUE(queues(waits("a1", 2)).keeps_guaranteed(cluster.job(victim), gpus(2)));
  EXPECT_FALSE(queues(waits("b", 2)).keeps_guaranteed(cluster.job(victim), gpus(2)));
}

TEST_F(VictimQueuesTest, AQueueTakesBackItsGuaranteeAndNoMore) {
  declare("a", "", /*guaranteed_gpus=*/4);
  const JobId victim = runs("b", 4);
  EXPECT_TRUE(queues(waits("a1", 4)).reclaims(cluster.job(victim)));
  EXPECT_FALSE(queues(waits("a1", 5)).reclaims(cluster.job(victim)));
  runs("a2", 1);  // counts for "a" as well
  EXPECT_FALSE(queues(waits("a1", 4)).reclaims(cluster.job(victim)));
  EXPECT_FALSE(queues(waits("a1", 0)).reclaims(cluster.job(victim)))
      << "a job without GPUs takes back nothing";
}

TEST_F(VictimQueuesTest, WhatIsPromisedSoonIsSpentOfTheGuarantee) {
  declare("a", "", /*guaranteed_gpus=*/4);
  const JobId victim = runs("b", 4);
  const JobId other = waits("a2", 2);
  Placement place;
  place.node = NodeId(1);
  place.devices = {{4}, {5}};
  const auto promise = [&](Span in) {
    cluster.decided(Promise{other, cluster.state.now + in, {place}, false});
  };
  const JobId beneficiary = waits("a1", 4);
  promise(seconds(10));
  EXPECT_FALSE(queues(beneficiary).reclaims(cluster.job(victim)));
  promise(kSoon + seconds(1));
  EXPECT_TRUE(queues(beneficiary).reclaims(cluster.job(victim))) << "until then others may have it";
}

TEST_F(VictimQueuesTest, WhoWouldHaveLessTakesAndTheOtherDoesNotTakeItBack) {
  const JobId victim = runs("b", 4);
  EXPECT_TRUE(queues(waits("a1", 3)).has_less(cluster.job(victim)));
  EXPECT_FALSE(queues(waits("a1", 4)).has_less(cluster.job(victim))) << "then both have as much";
}

TEST_F(VictimQueuesTest, WhatIsBeingStoppedIsGoneAlready) {
  declare("b", "", /*guaranteed_gpus=*/2);
  const JobId leaving = runs("b", 2);
  const JobId staying = runs("b", 2);
  const JobId beneficiary = waits("a1", 2);
  EXPECT_TRUE(queues(beneficiary).keeps_guaranteed(cluster.job(staying), gpus(2)));
  cluster.decided(Stop{leaving, 1, StopReason::kPreempted});
  EXPECT_FALSE(queues(beneficiary, {leaving}).keeps_guaranteed(cluster.job(staying), gpus(2)));
}

}  // namespace
}  // namespace dove::core
