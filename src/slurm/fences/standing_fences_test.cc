#include "slurm/fences/standing_fences.h"

#include <gtest/gtest.h>

#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

Lent lent(std::vector<Lent::Part> parts) { return {{"n[1-4]"}, std::move(parts)}; }

class StandingFencesTest : public testing::Test {
 protected:
  StandingFencesTest() { seen.nodes = FakeSlurm().state.nodes; }

  void add(std::int64_t id, const std::string& mark, std::vector<int> devices,
           JobPhase phase = JobPhase::kHolding) {
    JobSeen job;
    job.id = id;
    job.mark = mark;
    job.phase = phase;
    job.allocations = {{"n1", {0}, std::move(devices), 0}};
    seen.jobs.push_back(job);
  }
  void fence(std::int64_t id, int device) {
    add(id, placeholder_mark("dove-keep-n1." + std::to_string(device) + "@dove"), {device});
  }
  std::vector<std::string> asked(const DevicesOfNodes& kept) {
    std::vector<std::string> gres;
    for (const Ask& ask : plan_standing_fences(seen, kept, "dove").ask) gres.push_back(ask.gres);
    return gres;
  }

  Observed seen;
};

TEST_F(StandingFencesTest, WhatIsKeptOfTheExecutorsNodes) {
  const auto kept = [this](const Lent& lent) { return kept_devices(lent, seen.nodes); };
  EXPECT_TRUE(kept(lent({})).empty()) << "without a list it is lent everything";
  EXPECT_EQ(kept(lent({{{"n1"}, {0, 3}}})), (DevicesOfNodes{{"n1", {1, 2}}}));
  EXPECT_EQ(kept(lent({{{"n2"}, {0}}})), (DevicesOfNodes{{"n1", {0, 1, 2, 3}}}));
  EXPECT_EQ(kept(lent({{{"n1"}, {0, 1, 2, 3}}, {{"n1"}, {}}})), DevicesOfNodes{})
      << "the first that names it counts";
  EXPECT_TRUE(kept({{"m1"}, {{{"n1"}, {}}}}).empty()) << "another's node";
}

TEST_F(StandingFencesTest, EachKeptDeviceThatIsFreeGetsAFenceOfItsOwn) {
  EXPECT_EQ(asked({{"n1", {0, 2}}}), (std::vector<std::string>{"gpu:h_0:1", "gpu:h_2:1"}));
  const Ask ask = plan_standing_fences(seen, {{"n1", {2}}}, "dove").ask.at(0);
  EXPECT_EQ(ask.name, "dove-keep-n1.2@dove");
  EXPECT_EQ(ask.limit_minutes, 0);
  fence(7, 2);
  EXPECT_EQ(asked({{"n1", {0, 2}}}), std::vector<std::string>{"gpu:h_0:1"});
  add(8, "", {0}, JobPhase::kEnding);
  EXPECT_TRUE(asked({{"n1", {0, 2}}}).empty()) << "it is its user's until it has ended";
  EXPECT_EQ(fenced_devices(seen, "dove"), (DevicesOfNodes{{"n1", {2}}}));
}

TEST_F(StandingFencesTest, OneThatRunsIsSuspendedAndHasNoCoreThen) {
  const auto suspended = [this] {
    return plan_standing_fences(seen, {{"n1", {2}}}, "dove").suspend;
  };
  fence(7, 2);
  seen.jobs[0].state = "CONFIGURING";
  EXPECT_TRUE(suspended().empty()) << "not yet";
  seen.jobs[0].state = "RUNNING";
  EXPECT_EQ(suspended(), std::vector<std::int64_t>{7});
  seen.jobs[0].state = "SUSPENDED";
  EXPECT_TRUE(suspended().empty());
  EXPECT_EQ(fenced_devices(seen, "dove"), (DevicesOfNodes{{"n1", {2}}}));
  add(8, "", {1});
  seen.jobs[1].state = "RUNNING";
  EXPECT_TRUE(suspended().empty()) << "a user's";
}

TEST_F(StandingFencesTest, WhatIsLentIsReleasedOneByOne) {
  fence(7, 2);
  fence(8, 3);
  add(9, placeholder_mark("dove-keep-n1.1@other"), {1});
  EXPECT_EQ(plan_standing_fences(seen, {{"n1", {3}}}, "dove").release,
            std::vector<std::int64_t>{7});
  EXPECT_EQ(plan_standing_fences(seen, {}, "dove").release, (std::vector<std::int64_t>{7, 8}));
}

TEST_F(StandingFencesTest, OneThatWasNeverMarkedIsReleased) {
  add(7, "", {2});
  seen.jobs[0].name = "dove-keep-n1.2@dove";
  EXPECT_EQ(plan_standing_fences(seen, {{"n1", {2}}}, "dove").release,
            std::vector<std::int64_t>{7});
  EXPECT_TRUE(fenced_devices(seen, "dove").empty());
}

TEST_F(StandingFencesTest, OneWaitsInTheQueueForWhatIsAboutToLeave) {
  add(7, "", {0, 1});
  const DevicesOfNodes kept{{"n1", {0, 2}}};
  std::vector<Ask> ask = plan_standing_fences(seen, kept, "dove", {7}).ask;
  ASSERT_EQ(ask.size(), 2u);
  EXPECT_EQ(ask[0].gres, "gpu:h_2:1");
  EXPECT_FALSE(ask[0].waits) << "it is free";
  EXPECT_EQ(ask[1].gres, "gpu:h_0:1");
  EXPECT_TRUE(ask[1].waits);
  EXPECT_GT(ask[1].limit_minutes, 0) << "else it would stay for ever without an adapter";
  EXPECT_EQ(asked(kept), std::vector<std::string>{"gpu:h_2:1"});

  JobSeen fence;
  fence.id = 8;
  fence.name = "dove-keep-n1.0@dove";
  fence.mark = placeholder_mark(fence.name);
  seen.jobs.push_back(fence);
  fence.id = 9;
  seen.jobs.push_back(fence);
  const StandingPlan plan = plan_standing_fences(seen, kept, "dove", {7});
  EXPECT_EQ(plan.ask.size(), 1u) << "it waits already";
  EXPECT_EQ(plan.release, std::vector<std::int64_t>{9});
  EXPECT_EQ(plan_standing_fences(seen, kept, "dove").release, (std::vector<std::int64_t>{8, 9}))
      << "the job is to stay";
  seen.jobs[0].phase = JobPhase::kEnded;
  EXPECT_EQ(plan_standing_fences(seen, kept, "dove").release, std::vector<std::int64_t>{9})
      << "it begins in a moment";
}

TEST_F(StandingFencesTest, NothingIsAskedForWhereSlurmWouldRefuseIt) {
  seen.nodes[0].state = NodeSeen::State::kDrained;
  EXPECT_TRUE(asked({{"n1", {0}}, {"n9", {0}}}).empty());
  seen.nodes[0].state = NodeSeen::State::kUp;
  seen.nodes[0].registered = false;
  EXPECT_TRUE(asked({{"n1", {0}}}).empty());
}

}  // namespace
}  // namespace dove::slurm
