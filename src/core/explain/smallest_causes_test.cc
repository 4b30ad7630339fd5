#include "core/explain/smallest_causes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class SmallestCausesTest : public testing::Test {
 protected:
  // The set, once it was checked: it is enough, and each of it is needed.
  Causes of(const JobSpec& spec) {
    const Job job = job_of(cluster.state, std::make_shared<const JobSpec>(spec));
    ExplainIndex index(cluster.state, plain_policies());
    PlaceCauses causes(index, cluster.state.pools.at("default"), job);
    const Causes found = smallest_causes(causes, *job.spec);
    EXPECT_TRUE(causes.fits(found));
    for (Causes each = 1; each != 0 && each <= found; each <<= 1) {
      if ((found & each) == 0) continue;
      EXPECT_FALSE(causes.fits(found & ~each)) << "without " << each;
    }
    kinds_.clear();
    for (const Kind& kind : causes.kinds()) kinds_.push_back(kind.name);
    return found;
  }
  // The kind of that name, among those of the job that was asked about last.
  std::size_t kind(const std::string& name) const {
    return static_cast<std::size_t>(std::find(kinds_.begin(), kinds_.end(), name) - kinds_.begin());
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 2}};
  std::vector<std::string> kinds_;
};

TEST_F(SmallestCausesTest, NoneWhereThereIsRoom) { EXPECT_EQ(of(spec_of({.gpus = 2})), 0u); }

TEST_F(SmallestCausesTest, OnlyTheResourceThatIsShortIsNamed) {
  for (const std::uint32_t node : {1u, 2u}) {
    cluster.submit_and_start({.cores = 2, .gpus = 1}, {node});
  }
  const Causes gpus = of(spec_of({.cores = 4, .gpus = 2}));
  EXPECT_EQ(gpus, allocated_cause(kind("gpus")));
  const Causes cores = of(spec_of({.cores = 8, .gpus = 1}));
  EXPECT_EQ(cores, allocated_cause(kind("cores")));
  const Causes both = of(spec_of({.cores = 8, .gpus = 2}));
  EXPECT_EQ(both, allocated_cause(kind("gpus")) | allocated_cause(kind("cores")));
}

// Who asked can change that; nobody has to wait for the other job.
TEST_F(SmallestCausesTest, TheJobsOwnChoiceComesBeforeWhatOthersHold) {
  cluster.submit_and_start({.gpus = 2}, {1});
  JobSpec spec = spec_of({.gpus = 1});
  spec.nodes_excluded = {"n2"};
  EXPECT_EQ(of(spec), kChoiceCause);
}

TEST_F(SmallestCausesTest, ANodeThatIsOutIsACauseWhereTheOthersWillNotDo) {
  cluster.tell(NodeDisconnected{NodeId(2), true});
  EXPECT_EQ(of(spec_of({.gpus = 2, .tasks = 2})), kUnavailableCause);
  EXPECT_EQ(of(spec_of({.gpus = 2})), 0u);
}

TEST_F(SmallestCausesTest, SeveralAreNamedOnlyIfAllOfThemAreNeeded) {
  cluster.submit_and_start({.gpus = 2}, {1});
  cluster.tell(NodeDisconnected{NodeId(2), true});
  const Causes found = of(spec_of({.gpus = 2, .tasks = 2}));
  EXPECT_EQ(found, kUnavailableCause | allocated_cause(kind("gpus")));
}

TEST_F(SmallestCausesTest, WhatNoNodeHasIsScarceWhoeverIsThere) {
  cluster.submit_and_start({.gpus = 2}, {1});
  const Causes found = of(spec_of({.gpus = 3}));
  EXPECT_EQ(found, scarce_cause(kind("gpus")));
}

}  // namespace
}  // namespace dove::core
