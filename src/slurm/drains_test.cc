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

TEST(Drains, AChangeThatIsNotInEffectIsMadeAgainAfterLongerAndLongerPauses) {
  DrainPace pace;
  const std::vector<DrainChange> drain{{"n0", "dovetail@lab: xid"}};
  std::vector<std::int64_t> made_s;
  for (std::int64_t now_s = 1000; now_s < 1100; ++now_s) {
    if (pace.due(drain, now_s) == drain) made_s.push_back(now_s);
  }
  EXPECT_EQ(made_s, (std::vector<std::int64_t>{1000, 1005, 1015, 1035, 1075}));
  const std::vector<DrainChange> open{{"n0", ""}};
  EXPECT_EQ(pace.due(open, 1100), open) << "another change is due at once";
}

TEST(Drains, WhatIsTakenBackIsJudgedAnewAndNotAtEachLook) {
  DrainPace pace;
  const std::vector<DrainChange> drain{{"n0", "dovetail@lab: xid"}};
  EXPECT_EQ(pace.due(drain, 1000), drain);
  EXPECT_TRUE(pace.due({}, 1001).empty()) << "it is in effect";
  EXPECT_TRUE(pace.due(drain, 1002).empty()) << "somebody has just opened the node";
  EXPECT_EQ(pace.due(drain, 1005), drain);
  EXPECT_TRUE(pace.due({}, 2000).empty());
  EXPECT_EQ(pace.due(drain, 2001), drain) << "it was in effect for long";
  EXPECT_EQ(pace.due(drain, 2006), drain) << "the pauses begin anew";
}

}  // namespace
}  // namespace dove::slurm
