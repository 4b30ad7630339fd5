#include "core/preempt/foreign_jobs.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Two nodes of four GPUs that a Slurm shares. Its account "lab" counts in the queue "research", and
// its partition "batch" makes room.
class ForeignJobsTest : public testing::Test {
 protected:
  ForeignJobsTest() {
    cluster.declare(queue_of("research"));
    executor.name = "slurm";
    executor.nodes = {"n[1-2]"};
    executor.queues = {{"lab", "research"}};
    executor.preempts = {"batch"};
    cluster.declare(executor);
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  }

  static ForeignAllocation allocation(const char* id, std::vector<std::int32_t> devices) {
    ForeignAllocation one;
    one.id = id;
    one.devices = std::move(devices);
    one.user = "ada";
    one.account = "lab";
    one.partition = "batch";
    one.may_requeue = true;
    return one;
  }
  void begin(const ForeignAllocation& one, std::uint32_t node = 1) {
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(node), one});
  }
  std::vector<std::string> all() const {
    std::vector<std::string> ids;
    for (const ForeignJobPtr& one : foreign_jobs(cluster.state)) ids.push_back(one->id);
    return ids;
  }
  std::vector<std::string> yielding(JobId job, std::vector<std::int32_t> devices) const {
    Placement place;
    place.node = NodeId(1);
    for (const std::int32_t device : devices) place.devices.push_back({device});
    std::vector<std::string> ids;
    for (const ForeignJobPtr& one :
         yielding_to(cluster.state, cluster.job(job), std::vector<Placement>{place})) {
      ids.push_back(one->id);
    }
    return ids;
  }

  TestCluster cluster{2, {.gpus = 4}};
  Executor executor;
};

using Ids = std::vector<std::string>;

TEST_F(ForeignJobsTest, OneOverSeveralNodesIsOne) {
  begin(allocation("7", {0, 1}));
  begin(allocation("7", {2}), 2);
  const auto found = foreign_jobs(cluster.state);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(is_foreign(found[0]->job.id));
  EXPECT_EQ(found[0]->text, "slurm job 7 of ada");
  EXPECT_EQ(found[0]->job.spec->queue, "research");
  EXPECT_EQ(found[0]->job.attempts.back().placements.size(), 2u);
}

TEST_F(ForeignJobsTest, OnlyWhatMayRunAgainInANamedPartitionAndCountsInAQueueIsTaken) {
  ForeignAllocation once = allocation("1", {0});
  once.may_requeue = false;
  begin(once);
  ForeignAllocation other = allocation("2", {1});
  other.partition = "prod";
  begin(other);
  ForeignAllocation nobody = allocation("3", {2});
  nobody.account = "unknown";
  begin(nobody);
  ForeignAllocation cores = allocation("4", {});
  cores.cores = {0, 1};
  begin(cores);
  EXPECT_EQ(all(), Ids{});
  begin(allocation("5", {3}));
  EXPECT_EQ(all(), Ids{"5"});
}

// It would be put back as a whole, and that part may not be.
TEST_F(ForeignJobsTest, APartThatMayNotBeTakenKeepsTheWhole) {
  begin(allocation("7", {0}));
  ForeignAllocation part = allocation("7", {1});
  part.partition = "prod";
  begin(part, 2);
  EXPECT_EQ(all(), Ids{});
}

TEST_F(ForeignJobsTest, WithoutAnAdministratorsWordNobodyIsPutBack) {
  begin(allocation("7", {0}));
  EXPECT_TRUE(any_preempts(cluster.state));
  executor.preempts.clear();
  cluster.declare(executor);
  EXPECT_FALSE(any_preempts(cluster.state));
  EXPECT_EQ(all(), Ids{});
}

TEST_F(ForeignJobsTest, OnlyThoseYieldThatHoldOneOfTheDevicesAndAreLower) {
  begin(allocation("7", {0, 1}));
  begin(allocation("8", {2}));
  const JobId high = cluster.submit({.gpus = 1, .priority = 5});
  EXPECT_EQ(yielding(high, {1}), Ids{"7"});
  EXPECT_EQ(yielding(high, {1, 2}), (Ids{"7", "8"}));
  EXPECT_EQ(yielding(high, {3}), Ids{});
  const JobId equal = cluster.submit({.gpus = 1});
  EXPECT_EQ(yielding(equal, {1}), Ids{});
  const JobId cores = cluster.submit({.cores = 1, .priority = 5});
  EXPECT_FALSE(takes_from_foreign(cluster.state, cluster.job(cores)))
      << "cores that are freed could not be kept from the executor's next job";
}

// What one takes is gone for the next: the queue's guarantee is not counted twice.
TEST_F(ForeignJobsTest, ItsQueueKeepsWhatItIsGuaranteed) {
  Queue research = queue_of("research");
  research.guaranteed.gpus_milli = 1000;
  cluster.declare(research);
  begin(allocation("7", {0}));
  begin(allocation("8", {1}));
  const JobId high = cluster.submit({.gpus = 2, .priority = 5});
  EXPECT_EQ(yielding(high, {0, 1}).size(), 1u);
}

TEST_F(ForeignJobsTest, APromiseBindsThemOnceRoomWasMadeForIt) {
  begin(allocation("7", {0}));
  const JobId high = cluster.submit({.gpus = 1, .priority = 5});
  Placement place;
  place.node = NodeId(1);
  place.devices = {{0}};
  cluster.decided(Promise{high, cluster.state.now + seconds(60), {place}, /*cleared=*/false});
  EXPECT_TRUE(put_back_for(cluster.state, high).empty());
  cluster.decided(Promise{high, cluster.state.now + seconds(60), {place}, /*cleared=*/true});
  EXPECT_EQ(put_back_for(cluster.state, high).size(), 1u);
}

}  // namespace
}  // namespace dove::core
