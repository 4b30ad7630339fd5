#include "core/preempt/stoppable.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

class StoppableTest : public testing::Test {
 protected:
  JobId runs(const JobSpec& spec, std::uint32_t node) {
    const JobId id = cluster.submit(spec);
    cluster.launch(id, {node});
    cluster.start(id);
    running.push_back(id);
    return id;
  }
  static JobSpec low() { return spec_of({.gpus = 1, .preempt = Preempt::kRestart}); }

  TestCluster cluster{3, {.cores = 8, .gpus = 4}};
  std::vector<JobId> running;
};

TEST_F(StoppableTest, JobsThatAreAlikeAreOneKin) {
  for (std::uint32_t node : {1, 1, 2, 2, 1}) runs(low(), node);
  JobSpec big = low();
  big.groups[0].per_task.gpus = 2;
  runs(big, 2);
  JobSpec high = low();
  high.priority = 3;
  runs(high, 3);
  JobSpec sliced = low();
  sliced.slice_min = seconds(600);
  runs(sliced, 3);
  const Stoppable all(cluster.state, running, {});
  ASSERT_EQ(all.kin().size(), 3u);
  EXPECT_EQ(all.jobs().size(), running.size());
  const Kin& plain = all.kin()[0];
  EXPECT_EQ(plain.one, running[0]);
  EXPECT_EQ(plain.nodes, (std::vector<NodeId>{NodeId(1), NodeId(2)}));
  EXPECT_EQ(plain.weight_min, weight_of(cluster.job(running[0]).attempts.back()));
  EXPECT_FALSE(plain.in_slice);
  EXPECT_TRUE(all.kin()[1].in_slice);
  EXPECT_LT(plain.level, all.kin()[2].level);
}

TEST_F(StoppableTest, WhoEndsAnywayIsNoneOfThem) {
  runs(low(), 1);
  cluster.tell(JobCancelRequested{running[0]});
  runs(low(), 1);
  cluster.tell(JobRequeueRequested{running[1]});
  const Stoppable all(cluster.state, running, {});
  EXPECT_TRUE(all.jobs().empty());
  EXPECT_TRUE(all.kin().empty());
}

}  // namespace
}  // namespace dove::core
