#include "slurm/drains.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

NodeSeen node_seen(const std::string& name, NodeSeen::State state, const std::string& reason = "") {
  NodeSeen node;
  node.name = name;
  node.state = state;
  node.reason = reason;
  return node;
}

TEST(Drains, OpenNodesAreDrainedWithTheReasonAndOpenedAgain) {
  Observed seen;
  seen.nodes = {node_seen("n0", NodeSeen::State::kUp), node_seen("n1", NodeSeen::State::kUp),
                node_seen("n2", NodeSeen::State::kDrained, "dovetail@lab: gpu 1: xid")};
  const std::vector<DrainChange> changes =
      plan_drains(seen, {{"n1", "gpu 2: xid 79"}, {"elsewhere", "fan"}}, "lab");
  EXPECT_EQ(changes, (std::vector<DrainChange>{{"n1", "dovetail@lab: gpu 2: xid 79"}, {"n2", ""}}));
}

TEST(Drains, WhatSlurmsAdministratorsDrainedIsTheirs) {
  Observed seen;
  seen.nodes = {node_seen("n0", NodeSeen::State::kDrained, "bad fan"),
                node_seen("n1", NodeSeen::State::kDrained, "dovetail@other: xid"),
                node_seen("n2", NodeSeen::State::kDown, "dovetail@lab: xid")};
  EXPECT_TRUE(plan_drains(seen, {}, "lab").empty());
  EXPECT_TRUE(plan_drains(seen, {{"n0", "xid"}, {"n1", "xid"}}, "lab").empty());
  EXPECT_FALSE(is_drained_by_us(seen.nodes[0], "lab"));
}

TEST(Drains, AnotherReasonIsToldAndTheSameIsNot) {
  Observed seen;
  seen.nodes = {node_seen("n0", NodeSeen::State::kDrained, "dovetail@lab: xid")};
  EXPECT_TRUE(plan_drains(seen, {{"n0", "xid"}}, "lab").empty());
  EXPECT_EQ(plan_drains(seen, {{"n0", "reboot"}}, "lab"),
            (std::vector<DrainChange>{{"n0", "dovetail@lab: reboot"}}));
}

}  // namespace
}  // namespace dove::slurm
