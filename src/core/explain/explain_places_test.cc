#include "core/explain/explain_places.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/place/limits.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplainPlaces : public testing::Test {
 protected:
  std::vector<Reason> why(const JobSpec& spec) {
    const Job job = job_of(cluster.state, std::make_shared<const JobSpec>(spec));
    ExplainIndex index(cluster.state, plain_policies());
    std::vector<Reason> out;
    add_places(index, cluster.state.pools.at("default"), job, told, out);
    return out;
  }
  // The only cause.
  Reason only(const JobSpec& spec) {
    const std::vector<Reason> found = why(spec);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Reason{} : found.front();
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 2}};
  std::vector<Reason> told;  // limits
};

TEST_F(ExplainPlaces, WhatHasAPlaceHasNoCause) {
  EXPECT_TRUE(why(spec_of({.gpus = 2, .tasks = 2})).empty());
}

TEST_F(ExplainPlaces, AShortageIsToldInNumbers) {
  cluster.submit_and_start({.gpus = 2}, {1});
  cluster.submit_and_start({.gpus = 1}, {2});
  const Reason reason = only(spec_of({.gpus = 2}));
  EXPECT_EQ(reason.kind, ReasonKind::kResources);
  EXPECT_EQ(reason.resource, "gpus");
  EXPECT_EQ(reason.needs, 2);
  EXPECT_EQ(reason.free, 1) << "the most on one node";
  EXPECT_EQ(reason.total, 4);
}

TEST_F(ExplainPlaces, WhatNoNodeHasIsToldAsThat) {
  const Reason reason = only(spec_of({.gpus = 3}));
  EXPECT_EQ(reason.kind, ReasonKind::kNeverFits);
  EXPECT_EQ(reason.resource, "gpus");
  EXPECT_EQ(reason.needs, 3);
  EXPECT_EQ(reason.total, 4);
}

TEST_F(ExplainPlaces, TheJobsChoiceOfNodesIsToldAsWhatItLeaves) {
  cluster.submit_and_start({.gpus = 1}, {1});
  JobSpec spec = spec_of({.gpus = 2});
  spec.nodes_excluded = {"n2"};
  const Reason reason = only(spec);
  EXPECT_EQ(reason.kind, ReasonKind::kExcluded);
  EXPECT_EQ(reason.count, 1);
  EXPECT_EQ(reason.total, 2);
}

TEST_F(ExplainPlaces, OfNodesThatAreOutOneWithAFaultIsNamed) {
  cluster.tell(NodeDisconnected{NodeId(1), true});
  cluster.tell(FindingReported{NodeId(2), {"fan", Severity::kFault, Remedy::kNone, -1, "slow"}});
  const Reason reason = only(spec_of({.gpus = 1}));
  EXPECT_EQ(reason.kind, ReasonKind::kNodesUnavailable);
  EXPECT_EQ(reason.count, 2);
  EXPECT_EQ(reason.total, 2);
  EXPECT_EQ(reason.subject, "n2");
}

TEST_F(ExplainPlaces, WhatIsReservedForOthersIsNamed) {
  Reservation course;
  course.name = "course";
  course.nodes = {"n[1-2]"};
  course.starts_at = cluster.state.now;
  course.ends_at = cluster.state.now + seconds(3600);
  course.users = {"bob"};
  cluster.declare(course);
  const Reason reason = only(spec_of({.gpus = 1}));
  EXPECT_EQ(reason.kind, ReasonKind::kReserved);
  EXPECT_EQ(reason.subject, "course");
  EXPECT_TRUE(why(spec_of({.gpus = 1, .user = "bob"})).empty());
}

// To raise the limit would not help a job that no node can hold.
TEST_F(ExplainPlaces, LimitsThatOnlyTheImpossiblePartBreaksAreTakenOut) {
  UserLimit limit;
  limit.name = "ann";
  limit.limits.gpus_milli = 2000;
  cluster.declare(limit);
  const JobSpec never = spec_of({.gpus = 3});
  told = broken_limits(cluster.state, never, least_amount(never), false);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(only(never).kind, ReasonKind::kNeverFits);
  EXPECT_TRUE(told.empty());
  const JobSpec wide = spec_of({.gpus = 1, .tasks = 3});
  told = broken_limits(cluster.state, wide, least_amount(wide), false);
  EXPECT_TRUE(why(wide).empty());
  EXPECT_EQ(told.size(), 1u) << "it could run, and the limit keeps it from that";
}

// A limit by model is broken only where the job would get that model.
TEST_F(ExplainPlaces, ALimitThatHangsOnWhichNodesItGetsIsFoundByTrying) {
  UserLimit limit;
  limit.name = "ann";
  limit.limits.gpus_by_model = {{"h200", 1000}};
  cluster.declare(limit);
  const JobSpec spec = spec_of({.gpus = 2});
  const Reason reason = only(spec);
  EXPECT_EQ(reason.kind, ReasonKind::kUserLimit);
  EXPECT_EQ(reason.needs, 2000);
  EXPECT_EQ(reason.limit, 1000);
  cluster.add_node({.gpus = 2, .model = "A100"});
  EXPECT_TRUE(why(spec).empty());
}

}  // namespace
}  // namespace dove::core
