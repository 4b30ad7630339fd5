#include "core/preempt/victims.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

class VictimsTest : public testing::Test {
 protected:
  std::vector<JobId> victims(JobId beneficiary, const VictimRules& rules = {}) {
    std::vector<JobId> running;
    for (const auto& [id, job] : cluster.state.jobs) {
      if (job.phase == JobPhase::kActive && is_preemptible(*job.spec)) running.push_back(id);
    }
    std::vector<JobId> found;
    const RankedNodes ranked = ranked_nodes(cluster.state);
    Stoppable stoppable(cluster.state, running, {});
    for (const Victim& each :
         find_victims(cluster.state, cluster.job(beneficiary), ranked, stoppable, rules)) {
      found.push_back(each.job);
    }
    return found;
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  const Ask low{.gpus = 1, .preempt = Preempt::kRestart};
};

TEST_F(VictimsTest, AreJobsOfALowerPriorityWhoseOwnersAllowIt) {
  const JobId victim = cluster.submit_and_start(low);
  cluster.submit_and_start({.gpus = 1});
  const JobId high = cluster.submit({.gpus = 1, .priority = 5});
  const JobId equal = cluster.submit({.gpus = 1});
  EXPECT_EQ(victims(high), std::vector<JobId>{victim});
  EXPECT_TRUE(victims(equal).empty());
}

TEST_F(VictimsTest, TheCheapestComesFirst) {
  const JobId old = cluster.submit_and_start(low);
  cluster.pass(seconds(1000));
  const JobId fresh = cluster.submit_and_start(low);
  cluster.pass(seconds(10));
  EXPECT_GT(lost_work(cluster.state, cluster.job(old)),
            lost_work(cluster.state, cluster.job(fresh)));
  EXPECT_EQ(victims(cluster.submit({.gpus = 1, .priority = 5})), (std::vector<JobId>{fresh, old}));
}

TEST_F(VictimsTest, ASliceProtects) {
  JobSpec spec = spec_of(low);
  spec.slice_min = seconds(600);
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  EXPECT_EQ(slice_end(cluster.job(job)), kNever);
  cluster.start(job);
  EXPECT_EQ(slice_end(cluster.job(job)), cluster.state.now + seconds(600));
  EXPECT_EQ(victim_wake(cluster.state, cluster.job(job)), cluster.state.now + seconds(600));
  EXPECT_TRUE(victims(cluster.submit({.gpus = 1, .priority = 5})).empty());
}

TEST_F(VictimsTest, APauseFollowsEachPreemptionAndDoubles) {
  const JobId job = cluster.submit_and_start(low);
  EXPECT_EQ(pause_end(cluster.job(job)), Instant{});
  Job twice = cluster.job(job);
  twice.preempted_at = cluster.state.now;
  twice.preemptions = 1;
  const Span first = pause_end(twice) - cluster.state.now;
  twice.preemptions = 2;
  EXPECT_EQ((pause_end(twice) - cluster.state.now).us, 2 * first.us);
}

}  // namespace
}  // namespace dove::core
