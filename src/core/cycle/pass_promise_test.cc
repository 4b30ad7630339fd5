#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"
#include "core/plan/promise.h"

namespace dove::core {
namespace {

// One node of four GPUs, three of which are held for an hour.
class PassPromise : public testing::Test {
 protected:
  PassPromise() { running = cluster.submit_and_start({.gpus = 3, .limit_s = 3600}); }

  TestCluster cluster{1, {.gpus = 4}};
  JobId running;
};

TEST_F(PassPromise, ABlockedJobIsPromisedTheEndOfWhatIsInItsWay) {
  const JobId large = cluster.submit({.gpus = 4, .limit_s = 60});
  const auto made = decide_for<Promise>(cluster);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].job, large);
  EXPECT_EQ(made[0].start_at, cluster.state.now + seconds(3600 + 32));
}

TEST_F(PassPromise, WhatWouldDelayItIsNotStarted) {
  cluster.submit({.gpus = 4, .limit_s = 60});
  decide_for<Promise>(cluster);
  cluster.submit({.gpus = 1, .limit_s = 7200});
  const JobId brief = cluster.submit({.gpus = 1, .limit_s = 60});
  EXPECT_EQ(launched(cluster), std::vector<JobId>{brief});
  EXPECT_EQ(find_broken_promise(cluster.state), std::nullopt);
}

TEST_F(PassPromise, ItMovesForwardWhenItCanBeKeptEarlier) {
  const JobId large = cluster.submit({.gpus = 4, .limit_s = 60});
  decide_for<Promise>(cluster);
  cluster.pass(seconds(60));
  cluster.end(running);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{large});
  EXPECT_TRUE(cluster.state.promises.empty());
}

TEST_F(PassPromise, NothingIsPromisedWithoutAnEndInSight) {
  cluster.end(running);
  cluster.submit_and_start({.gpus = 3});
  cluster.submit({.gpus = 4});
  EXPECT_TRUE(decide_for<Promise>(cluster).empty());
}

TEST_F(PassPromise, ItIsWithdrawnWhenItsNodeIsGone) {
  const JobId large = cluster.submit({.gpus = 4, .limit_s = 60});
  decide_for<Promise>(cluster);
  NodeDeclaration drained;
  drained.name = "n1";
  drained.drained = true;
  cluster.declare(drained);
  const auto withdrawn = decide_for<Withdraw>(cluster);
  ASSERT_EQ(withdrawn.size(), 1u);
  EXPECT_EQ(withdrawn[0].job, large);
}

// Its adapter is started anew, or Slurm is: users must not see the start come and go for that.
TEST_F(PassPromise, ItStaysWhileItsExecutorDoesNotAnswer) {
  Executor slurm{"slurm", "", {"n1"}, true, {}};
  slurm.runs_jobs = true;
  cluster.declare(slurm);
  const auto tell = [&](ExecutorContact contact) {
    cluster.tell(ExecutorContactChanged{"slurm", contact, ""});
  };
  tell(ExecutorContact::kAnswering);
  JobSpec spec = spec_of({.gpus = 4, .limit_s = 60});
  spec.executor = "slurm";
  const JobId large = cluster.submit(spec);
  ASSERT_EQ(decide_for<Promise>(cluster).size(), 1u);
  for (const auto contact : {ExecutorContact::kSilent, ExecutorContact::kMute}) {
    tell(contact);
    EXPECT_TRUE(decide_for<Withdraw>(cluster).empty());
    cluster.pass(seconds(60));
    tell(ExecutorContact::kAnswering);
    EXPECT_TRUE(decide_for<Promise>(cluster).empty());
  }
  tell(ExecutorContact::kSilent);
  cluster.end(running);
  EXPECT_TRUE(launched(cluster).empty()) << "nobody could start it";
  tell(ExecutorContact::kAnswering);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{large});
}

TEST_F(PassPromise, ItIsWithdrawnWhenItsExecutorHasTheNodeDown) {
  Executor slurm{"slurm", "", {"n1"}, true, {}};
  slurm.runs_jobs = true;
  cluster.declare(slurm);
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  JobSpec spec = spec_of({.gpus = 4, .limit_s = 60});
  spec.executor = "slurm";
  cluster.submit(spec);
  ASSERT_EQ(decide_for<Promise>(cluster).size(), 1u);
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDown, "", {}});
  EXPECT_EQ(decide_for<Withdraw>(cluster).size(), 1u);
}

}  // namespace
}  // namespace dove::core
