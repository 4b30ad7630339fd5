// The pass kPromise for jobs of an executor that is lent a part of its nodes.
#include <gtest/gtest.h>

#include <vector>

#include "core/cycle/decide_fixture.h"
#include "core/place/reservation.h"
#include "core/state/invariants.h"

namespace dove::core {
namespace {

// A Slurm is lent four of eight cores. A job of our agents has the first four, a job of Slurm's the
// next three; the last one is free.
class PassPromiseLent : public testing::Test {
 protected:
  PassPromiseLent() {
    Executor slurm{"slurm", "", {"n1"}, true, {}};
    slurm.runs_jobs = true;
    slurm.placeholders = false;
    slurm.lendable = {{{"n1"}, {}, 4, -1}};
    cluster.declare(slurm);
    cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
    ours = cluster.submit_and_start({.cores = 4, .limit_s = 50});
    its = submit({.cores = 3, .limit_s = 100});
    cluster.launch(its);
    cluster.start(its);
  }
  ~PassPromiseLent() override { EXPECT_EQ(find_broken_invariant(cluster.state), std::nullopt); }

  JobId submit(const Ask& ask) {
    JobSpec spec = spec_of(ask);
    spec.executor = "slurm";
    return cluster.submit(spec);
  }
  Instant end_of(JobId id) const { return places_free_at(cluster.state, cluster.job(id)); }

  TestCluster cluster{1};
  JobId ours, its;
};

TEST_F(PassPromiseLent, AJobIsPromisedWhenEnoughIsLentAndNotWhenItsCoresAreFree) {
  const JobId next = submit({.cores = 3, .limit_s = 60});
  const auto made = decide_for<Promise>(cluster);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].job, next);
  EXPECT_EQ(made[0].start_at, end_of(its));
  EXPECT_TRUE(made[0].placements.at(0).cores.contains(0)) << "free as soon as ours ends";
}

TEST_F(PassPromiseLent, AlsoWhereItsCoresAreFreeNow) {
  cluster.end(ours);
  const JobId next = submit({.cores = 3, .limit_s = 60});
  const auto made = decide_for<Promise>(cluster);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].start_at, end_of(its));
  cluster.pass(seconds(60));
  cluster.end(its);
  EXPECT_EQ(launched(cluster), std::vector<JobId>{next});
}

TEST_F(PassPromiseLent, APromiseIsNotMovedToWhenItsCoresAreFree) {
  submit({.cores = 3, .limit_s = 60});
  ASSERT_EQ(decide_for<Promise>(cluster).size(), 1u);
  // The node's plan is another one, so the promise is looked at again.
  cluster.submit_and_start({.limit_s = 10});
  EXPECT_TRUE(decide_for<Promise>(cluster).empty());
  EXPECT_EQ(cluster.state.promises.begin()->second.start_at, end_of(its));
}

// What it takes is lent to neither, though it is none of the cores that the other was promised.
TEST_F(PassPromiseLent, WhoTakesWhatWasToBeLentHasThePromiseBehindItWithdrawn) {
  const JobId behind = submit({.cores = 4, .limit_s = 60});
  const auto made = decide_for<Promise>(cluster);
  ASSERT_EQ(made.size(), 1u);
  ASSERT_FALSE(made[0].placements.at(0).cores.contains(7));
  const JobId first = submit({.cores = 1, .priority = 5});
  std::vector<JobId> started;
  std::vector<JobId> withdrawn;
  for (const Decision& each : decide(cluster.state, plain_policies())) {
    if (const auto* launch = std::get_if<Launch>(&each)) started.push_back(launch->job);
    if (const auto* withdraw = std::get_if<Withdraw>(&each)) withdrawn.push_back(withdraw->job);
  }
  EXPECT_EQ(started, std::vector<JobId>{first});
  EXPECT_EQ(withdrawn, std::vector<JobId>{behind});
  EXPECT_TRUE(cluster.state.promises.empty()) << "it never ends";
}

}  // namespace
}  // namespace dove::core
