#include "slurm/rooms/room_plan.h"

#include <gtest/gtest.h>

#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

// The ledger gave the devices 1 and 2 of n1 to Slurm job 77, which waits.
class RoomPlanTest : public testing::Test {
 protected:
  RoomPlanTest() {
    JobSeen job;
    job.id = 77;
    job.state = "PENDING";
    slurm.state.jobs.push_back(job);
    Wanted room;
    room.key = {17, 1, "n1"};
    room.devices = {1, 2};
    room.runs = true;
    room.foreign_job = "77";
    wanted.push_back(room);
  }
  PlaceholderReport report() const {
    const RoomPlan plan = plan_rooms(slurm.state, wanted, {}, "dove");
    EXPECT_EQ(plan.reports.size(), 1u);
    return plan.reports.at(0);
  }

  FakeSlurm slurm;
  std::vector<Wanted> wanted;
};

TEST_F(RoomPlanTest, AsLongAsItWaitsItIsAwaited) {
  EXPECT_EQ(report().state, PlaceholderState::kAsked);
  EXPECT_EQ(report().key, wanted[0].key);
  slurm.add("train", {0, 3});
  EXPECT_EQ(report().state, PlaceholderState::kAsked) << "beside the room";
}

TEST_F(RoomPlanTest, WhereItHasBegunItsPlaceIsGivenUp) {
  JobSeen& job = slurm.state.jobs[0];
  job.phase = JobPhase::kHolding;
  job.allocations = {{"n1", {0}, {1, 2}, 0}};
  EXPECT_EQ(report().state, PlaceholderState::kRefused);
  EXPECT_EQ(report().why, "Slurm has started its job 77");
  EXPECT_EQ(report().id, 0) << "what it holds is told as any job's";
  job.phase = JobPhase::kEnded;
  EXPECT_EQ(report().why, "Slurm job 77 does not wait any more");
  slurm.state.jobs.clear();
  EXPECT_EQ(report().state, PlaceholderState::kRefused);
}

TEST_F(RoomPlanTest, WhatAnotherJobGotIsGivenUp) {
  slurm.add("other", {2}).user = "bob";
  EXPECT_EQ(report().state, PlaceholderState::kRefused);
  EXPECT_NE(report().why.find("of bob"), std::string::npos) << report().why;
}

TEST_F(RoomPlanTest, WhatOursHadIsReleasedInAMoment) {
  slurm.add("dove-9.1@dove", {1, 2}, placeholder_mark("dove-9.1@dove"));
  EXPECT_EQ(report().state, PlaceholderState::kAsked);
  JobSeen& ending = slurm.add("other", {1});
  ending.phase = JobPhase::kEnding;
  EXPECT_EQ(report().state, PlaceholderState::kAsked) << "it may start once that has ended";
}

TEST_F(RoomPlanTest, APlaceThatWasTakenBackIsOver) {
  WantedWork work;
  work.key = {17, 1, "n1"};
  work.foreign_job = "77";
  work.stop = true;
  WantedWork ours;
  ours.key = {18, 1, "n1"};
  ours.stop = true;
  wanted[0].foreign_job.clear();
  const RoomPlan plan = plan_rooms(slurm.state, wanted, {work, ours}, "dove");
  EXPECT_TRUE(plan.reports.empty()) << "a job of ours";
  ASSERT_EQ(plan.works.size(), 1u);
  EXPECT_EQ(plan.works[0].key, work.key);
  EXPECT_TRUE(plan.works[0].has_ended);
}

}  // namespace
}  // namespace dove::slurm
