#include "core/state/findings.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

Finding finding(Severity severity, std::int32_t device = -1) {
  return {"xid", severity, Remedy::kNone, device, "seen"};
}

TEST(Findings, AFaultOfADeviceClosesTheDeviceAlone) {
  TestCluster cluster(1, {.gpus = 2});
  cluster.tell(FindingReported{NodeId(1), finding(Severity::kFault, 1)});
  EXPECT_TRUE(is_device_closed(cluster.node(1), 1));
  EXPECT_FALSE(is_device_closed(cluster.node(1), 0));
  EXPECT_TRUE(is_available(cluster.node(1)));
}

TEST(Findings, AFaultOfNoKnownDeviceClosesTheNode) {
  TestCluster cluster(1, {.gpus = 2});
  cluster.tell(FindingReported{NodeId(1), finding(Severity::kFault, 7)});
  EXPECT_TRUE(is_closed(cluster.node(1)));
  EXPECT_FALSE(is_available(cluster.node(1)));
  EXPECT_EQ(closing_finding(cluster.node(1))->check, "xid");
}

TEST(Findings, AWarningClosesNothing) {
  TestCluster cluster(1);
  cluster.tell(FindingReported{NodeId(1), finding(Severity::kWarning)});
  EXPECT_FALSE(is_closed(cluster.node(1)));
}

TEST(Findings, WhatIsCriticalIsAboutTheJobsOnThatDevice) {
  TestCluster cluster(1, {.gpus = 2});
  const JobId there = cluster.submit_and_start({.gpus = 1});
  const JobId beside = cluster.submit_and_start({.gpus = 1});
  cluster.tell(FindingReported{NodeId(1), finding(Severity::kCritical, 0)});
  EXPECT_TRUE(is_untrusted(cluster.state, cluster.node(1), there));
  EXPECT_FALSE(is_untrusted(cluster.state, cluster.node(1), beside));
}

TEST(Findings, ADrainedOrSilentNodeTakesNoWork) {
  TestCluster cluster(2);
  NodeDeclaration drained;
  drained.name = "n1";
  drained.drained = true;
  cluster.declare(drained);
  cluster.tell(NodeDisconnected{NodeId(2), true});
  EXPECT_FALSE(is_available(cluster.node(1)));
  EXPECT_FALSE(is_available(cluster.node(2)));
}

TEST(Findings, TheGangsPaceIsWhatHalfOfItsRanksKeep) {
  EXPECT_EQ(gang_pace({{Span{9}, Span{5}, 2}, {Span{9}, Span{7}, 2}}), Span{5});
  EXPECT_EQ(gang_pace({{Span{9}, Span{5}, 2}}), Span{});  // two say nothing about a third
}

}  // namespace
}  // namespace dove::core
