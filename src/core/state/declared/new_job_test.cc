// job_of (core/state/apply.h).
#include <gtest/gtest.h>

#include "core/state/apply.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class NewJob : public testing::Test {
 protected:
  Job made(const JobSpec& spec) const {
    return job_of(cluster.state, std::make_shared<const JobSpec>(spec));
  }
  Affinity affinity(Affinity wish = Affinity::kDefault) const {
    JobSpec spec = spec_of({});
    spec.groups[0].affinity = wish;
    return made(spec).spec->groups[0].affinity;
  }

  TestCluster cluster;
  Pool& pool = cluster.state.pools.at("default");
};

TEST_F(NewJob, IsAsItIsSubmitted) {
  const JobId before = cluster.submit();
  cluster.pass(seconds(5));
  JobSpec spec = spec_of({.priority = 7});
  spec.hold = true;
  const Job job = made(spec);
  EXPECT_EQ(job.id.value, before.value + 1);
  EXPECT_TRUE(job.held);
  EXPECT_EQ(job.priority, 7);
  EXPECT_EQ(job.submitted_at, cluster.state.now);
  EXPECT_EQ(job.array, JobId{});
  EXPECT_FALSE(made(spec_of({})).held);
}

TEST_F(NewJob, OfAnArrayIsItsFirstElement) {
  JobSpec spec = spec_of({});
  spec.array.indices = {3, 5};
  const Job job = made(spec);
  EXPECT_EQ(job.array, job.id);
  EXPECT_EQ(job.array_index, 3);
}

TEST_F(NewJob, WhereNothingIsDeclaredTheSpecIsShared) {
  const auto spec = std::make_shared<const JobSpec>(spec_of({}));
  EXPECT_EQ(job_of(cluster.state, spec).spec, spec);
  pool.exclusive = true;
  EXPECT_NE(job_of(cluster.state, spec).spec, spec);
  EXPECT_FALSE(spec->exclusive) << "what was submitted stays";
}

TEST_F(NewJob, APoolOfWholeNodesMakesItExclusive) {
  EXPECT_FALSE(made(spec_of({})).spec->exclusive);
  pool.exclusive = true;
  EXPECT_TRUE(made(spec_of({})).spec->exclusive);
}

TEST_F(NewJob, TheClustersAffinityHoldsWhereThePoolAndTheJobHaveNone) {
  EXPECT_EQ(affinity(), Affinity::kDefault);
  cluster.state.settings.affinity = Affinity::kInterleaved;
  EXPECT_EQ(affinity(), Affinity::kInterleaved);
  EXPECT_EQ(affinity(Affinity::kSingle), Affinity::kSingle);
  pool.affinity = Affinity::kSingle;
  EXPECT_EQ(affinity(), Affinity::kDefault) << "which is kSingle";
}

TEST_F(NewJob, ThePoolsAffinityIsThatOfGroupsWithoutAWish) {
  pool.affinity = Affinity::kInterleaved;
  JobSpec spec = spec_of({});
  spec.groups.push_back(spec.groups[0]);
  spec.groups[0].affinity = Affinity::kSingle;
  const Job job = made(spec);
  EXPECT_EQ(job.spec->groups[0].affinity, Affinity::kSingle);
  EXPECT_EQ(job.spec->groups[1].affinity, Affinity::kInterleaved);
}

}  // namespace
}  // namespace dove::core
