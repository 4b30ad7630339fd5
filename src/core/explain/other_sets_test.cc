#include "core/explain/other_sets.h"

#include <gtest/gtest.h>

#include "core/explain/explain.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(OtherSets, CausesThatWouldDoAsWellAreGiven) {
  TestCluster two{2, {.cores = 8, .gpus = 2}};
  const auto others = [&](JobId id) {
    return other_sets(two.state, plain_policies(), *two.state.find_job(id));
  };
  two.submit_and_start({.gpus = 2});
  two.tell(NodeDisconnected{NodeId(2), true});
  const JobId job = two.submit({.gpus = 2});
  const auto reasons = explain(two.state, plain_policies(), job);
  ASSERT_FALSE(reasons.empty());
  ASSERT_EQ(reasons[0].kind, ReasonKind::kNodesUnavailable);
  const OtherSets found = others(job);
  EXPECT_TRUE(found.all);
  ASSERT_EQ(found.sets.size(), 1U) << "the first node free of jobs would do as well";
  ASSERT_EQ(found.sets[0].size(), 1U);
  EXPECT_EQ(found.sets[0][0].kind, ReasonKind::kResources);
  EXPECT_EQ(found.sets[0][0].resource, "gpus");
  EXPECT_TRUE(others(two.submit({.gpus = 3})).sets.empty()) << "it never fits";
}

}  // namespace
}  // namespace dove::core
