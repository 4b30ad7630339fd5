#include "core/preempt/victim_explain.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"
#include "core/preempt/victims.h"

namespace dove::core {
namespace {

// A node of four GPUs.
class VictimExplainTest : public testing::Test {
 protected:
  JobId start(std::int32_t gpus, Span slice = {}) {
    JobSpec spec = spec_of({.gpus = gpus, .preempt = Preempt::kRestart});
    spec.slice_min = slice;
    const JobId id = cluster.submit(spec);
    cluster.launch(id);
    cluster.start(id);
    return id;
  }
  std::optional<Reason> explain(const Ask& ask) {
    return explain_victims(cluster.state, plain_policies(), running_jobs(cluster.state),
                           ranked_nodes(cluster.state), cluster.job(cluster.submit(ask)));
  }
  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }

  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  const Ask high{.gpus = 2, .priority = 5};
};

TEST_F(VictimExplainTest, NothingIsSaidWhereNobodyMayBeStopped) {
  EXPECT_EQ(explain(high), std::nullopt);
  cluster.submit_and_start({.gpus = 4});
  EXPECT_EQ(explain(high), std::nullopt) << "its owner does not allow it";
}

TEST_F(VictimExplainTest, NothingIsSaidWherePreemptionIsOff) {
  start(4);
  EXPECT_TRUE(explain(high).has_value());
  cluster.state.settings.preemption = false;
  EXPECT_EQ(explain(high), std::nullopt);
}

TEST_F(VictimExplainTest, OneThatIsEnoughIsNamed) {
  const JobId victim = start(4);
  const auto reason = explain(high);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->kind, ReasonKind::kPreemption);
  EXPECT_EQ(reason->used, 1);
  EXPECT_EQ(reason->total, 1);
  EXPECT_EQ(reason->count, 1);
  EXPECT_EQ(reason->other, victim);
  EXPECT_EQ(reason->until, Instant{}) << "it may be stopped at once";
}

TEST_F(VictimExplainTest, AnEqualIsNoVictim) {
  start(4);
  const auto reason = explain({.gpus = 2});
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->used, 1);
  EXPECT_EQ(reason->total, 0);
  EXPECT_EQ(reason->count, 0);
  EXPECT_EQ(reason->other, JobId{});
}

TEST_F(VictimExplainTest, ThoseThatAreNotEnoughAreCountedAndNotNamed) {
  start(1);
  cluster.submit_and_start({.gpus = 3});
  const auto reason = explain(high);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->total, 1);
  EXPECT_EQ(reason->count, 0);
  EXPECT_EQ(reason->other, JobId{});
  EXPECT_EQ(explain({.gpus = 1, .priority = 5})->count, 1) << "for one GPU it is";
}

TEST_F(VictimExplainTest, NoMoreAreToldThanAreNeeded) {
  start(2);
  start(2);
  const auto two = explain(high);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->total, 2);
  EXPECT_EQ(two->count, 1);
  EXPECT_EQ(explain({.gpus = 3, .priority = 5})->count, 2);
}

TEST_F(VictimExplainTest, TheLastSliceThatEndsDecides) {
  start(2, seconds(100));
  start(2, seconds(300));
  EXPECT_EQ(explain({.gpus = 4, .priority = 5})->until, in(300));
  cluster.pass(seconds(100));
  EXPECT_EQ(explain(high)->until, Instant{}) << "the first is over";
  EXPECT_EQ(explain({.gpus = 4, .priority = 5})->until, in(200));
}

TEST_F(VictimExplainTest, APauseCountsAsASliceDoes) {
  Job& victim = *cluster.state.find_job(start(4));
  victim.preemptions = 1;
  victim.preempted_at = cluster.state.now;
  EXPECT_EQ(explain(high)->until, pause_end(victim));
  EXPECT_GT(pause_end(victim), cluster.state.now);
}

TEST_F(VictimExplainTest, ButNotWhereAnEqualTakesItsTurn) {
  Job& victim = *cluster.state.find_job(start(4, seconds(100)));
  victim.preemptions = 20;
  victim.preempted_at = cluster.state.now;
  ASSERT_GT(pause_end(victim), in(100));
  EXPECT_EQ(explain({.gpus = 2})->until, in(100));
}

TEST_F(VictimExplainTest, ASliceThatHasNotBegunHasNoEnd) {
  JobSpec spec = spec_of({.gpus = 4, .preempt = Preempt::kRestart});
  spec.slice_min = seconds(100);
  cluster.launch(cluster.submit(spec));
  const auto reason = explain(high);
  EXPECT_EQ(reason->count, 1);
  EXPECT_EQ(reason->until, Instant{});
}

}  // namespace
}  // namespace dove::core
