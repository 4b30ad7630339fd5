#include "policies/multifactor.h"

#include <gtest/gtest.h>

#include "core/queue/points.h"
#include "core/state/cluster_fixture.h"

namespace dove::policies {
namespace {

using core::kPoint;

class MultifactorTest : public testing::Test {
 protected:
  std::int64_t rank(JobId id) const { return Multifactor().rank(cluster.state, cluster.job(id)); }
  void weigh(const MultifactorWeights& weights) {
    ClusterSettings settings;
    settings.multifactor = weights;
    cluster.declare(settings);
  }

  core::TestCluster cluster;
};

TEST_F(MultifactorTest, ByDefaultAPointIsAMinuteOfWaiting) {
  const JobId plain = cluster.submit({.cores = 0});
  EXPECT_EQ(rank(cluster.submit({.cores = 0, .gpus = 2})) - rank(plain), 2 * kPoint);
  EXPECT_EQ(rank(cluster.submit({.cores = 10})) - rank(plain), kPoint);
  EXPECT_EQ(rank(cluster.submit({.cores = 0, .priority = 1})) - rank(plain), 60 * kPoint);
  cluster.pass(seconds(60));
  EXPECT_EQ(rank(plain) - rank(cluster.submit({.cores = 0})), kPoint);
}

TEST_F(MultifactorTest, EachPartHasTheClustersWeight) {
  weigh({.age = 100,
         .age_span = seconds(7),
         .fair_share = 0,
         .size = -5,
         .priority = 3,
         .queue_priority = 11});
  Queue fast = core::queue_of("fast");
  fast.priority = 2;
  cluster.declare(fast);
  const JobId plain = cluster.submit({.cores = 0});
  EXPECT_EQ(rank(cluster.submit({.cores = 0, .gpus = 2})) - rank(plain), -10 * kPoint);
  EXPECT_EQ(rank(cluster.submit({.cores = 0, .priority = 4})) - rank(plain), 12 * kPoint);
  EXPECT_EQ(rank(cluster.submit({.cores = 0, .queue = "fast"})) - rank(plain), 22 * kPoint);
  cluster.pass(seconds(7));
  EXPECT_EQ(rank(plain) - rank(cluster.submit({.cores = 0})), 100 * kPoint);
}

TEST_F(MultifactorTest, TheLargestSumsAreStillInOrderBesideAge) {
  weigh({.age = 10'080'000, .priority = 1'000'000'000, .queue_priority = 1'000'000'000});
  const JobId last = cluster.submit({.priority = -1'000'000'000});
  const JobId first = cluster.submit({.priority = 1'000'000'000});
  EXPECT_GT(rank(first), rank(last));
}

TEST(MultifactorShare, TheWholeClusterCostsFairShareForEachWeight) {
  core::Usage used;
  core::Total total;
  total.gpus_milli = 8000;
  core::ShareView view;
  view.used = &used;
  view.total = &total;
  view.half_life = seconds(1'000'000);
  view.fair_share = 1000;
  // 1 / ln 2 half-lives of all of it: what use without end comes to.
  view.past_milli_ms = std::int64_t{8000} * 1'442'695'000;
  EXPECT_EQ(Multifactor().share(view), 1000 * kPoint);
  view.weight = 4;
  EXPECT_EQ(Multifactor().share(view), 250 * kPoint);
  view.fair_share = 0;
  EXPECT_EQ(Multifactor().share(view), 0);
}

}  // namespace
}  // namespace dove::policies
