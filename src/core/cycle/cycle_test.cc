#include "core/cycle/cycle.h"

#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

class Noted final : public PassObserver {
 public:
  void begins(Pass pass, const State&) override { passes.push_back(pass); }
  void ended(Pass, const State&) override {}
  std::vector<Pass> passes;
};

TEST(Cycle, RunsItsPassesInOrder) {
  TestCluster cluster(1);
  Noted noted;
  CycleOptions options;
  options.observer = &noted;
  decide(cluster.state, plain_policies(), options);
  const std::vector<Pass> order = {
      Pass::kExpire, Pass::kNodes,   Pass::kFinish,  Pass::kDependencies, Pass::kOrder,
      Pass::kPlace,  Pass::kPromise, Pass::kPreempt, Pass::kBarrier,      Pass::kPurge};
  EXPECT_EQ(noted.passes, order);
}

TEST(Cycle, GoesBackToPlacingWhenSomebodyWasStopped) {
  TestCluster cluster(1, {.gpus = 2});
  cluster.submit_and_start({.gpus = 2, .preempt = Preempt::kRestart});
  cluster.submit({.gpus = 2, .priority = 5});
  Noted noted;
  CycleOptions options;
  options.observer = &noted;
  decide(cluster.state, plain_policies(), options);
  EXPECT_GT(std::count(noted.passes.begin(), noted.passes.end(), Pass::kPlace), 1);
  EXPECT_EQ(std::count(noted.passes.begin(), noted.passes.end(), Pass::kExpire), 1);
  EXPECT_EQ(noted.passes.back(), Pass::kPurge);
}

TEST(Cycle, APassThatIsOffDoesNothing) {
  TestCluster cluster(1);
  cluster.submit();
  CycleOptions options;
  options.switch_off(Pass::kPlace);
  EXPECT_TRUE(decide(cluster.state, plain_policies(), options).empty());
  EXPECT_NE(policy_digest(plain_policies(), options), policy_digest(plain_policies()));
}

TEST(Cycle, EachPassHasAName) {
  EXPECT_EQ(pass_name(Pass::kExpire), "expire");
  EXPECT_EQ(pass_name(Pass::kPromise), "promise");
  EXPECT_EQ(pass_name(Pass::kPurge), "purge");
}

}  // namespace
}  // namespace dove::core
