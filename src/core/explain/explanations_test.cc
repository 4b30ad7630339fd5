#include "core/explain/explanations.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplanationsTest : public testing::Test {
 protected:
  std::vector<Reason> why(JobId id) { return answers.explain(plain_policies(), cluster.job(id)); }
  std::int64_t free_gpus(JobId id) {
    for (const Reason& reason : why(id)) {
      if (reason.kind == ReasonKind::kResources) return reason.free;
    }
    return -1;
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 2}};
  Explanations answers{cluster.state};
};

TEST_F(ExplanationsTest, FollowWhatIsLaunchedAndEnds) {
  const JobId waits = cluster.submit({.gpus = 2});
  cluster.submit_and_start({.gpus = 1}, {1});
  const JobId second = cluster.submit_and_start({.gpus = 1}, {2});
  EXPECT_EQ(free_gpus(waits), 1);
  cluster.submit_and_start({.gpus = 1}, {1});
  cluster.submit_and_start({.gpus = 1}, {2});
  EXPECT_EQ(free_gpus(waits), 0);
  cluster.tell(PlacementEnded{second, 1, NodeId(2), {}, 0, 0});
  EXPECT_EQ(free_gpus(waits), 1);
}

TEST_F(ExplanationsTest, FollowNodesThatComeAndGo) {
  const JobId waits = cluster.submit({.gpus = 2, .tasks = 2});
  cluster.submit_and_start({.gpus = 1}, {1});
  EXPECT_EQ(free_gpus(waits), 2);
  cluster.tell(NodeDisconnected{NodeId(2), true});
  const std::vector<Reason> without = why(waits);
  const bool unavailable = std::any_of(without.begin(), without.end(), [](const Reason& one) {
    return one.kind == ReasonKind::kNodesUnavailable || one.kind == ReasonKind::kResources;
  });
  EXPECT_TRUE(unavailable);
  cluster.add_node({.cores = 8, .gpus = 2});
  EXPECT_EQ(answers.explain(plain_policies(), cluster.job(waits)).size(), why(waits).size());
  NodeDeclaration drained;
  drained.name = "n3";
  drained.drained = true;
  cluster.declare(drained);
  cluster.tell(NodeConnected{NodeId(2), "boot"});
  ASSERT_EQ(why(waits).size(), 1u);
  EXPECT_EQ(why(waits)[0].kind, ReasonKind::kNodesUnavailable) << "n3 would do";
}

TEST_F(ExplanationsTest, AreAnsweredAfterAPauseInWhichMuchHappened) {
  const JobId waits = cluster.submit({.gpus = 2, .tasks = 2});
  cluster.submit_and_start({.gpus = 1}, {1});
  why(waits);
  for (int i = 0; i < 5000; ++i) cluster.submit({.gpus = 1});
  answers.forget_much();
  EXPECT_FALSE(cluster.state.changes.is_followed());
  EXPECT_EQ(free_gpus(waits), 2);
  EXPECT_TRUE(cluster.state.changes.is_followed());
}

}  // namespace
}  // namespace dove::core
