// The adapter where ours make room for jobs that wait in Slurm.
#include <gtest/gtest.h>

#include "slurm/adapter_fixture.h"
#include "slurm/rooms/room_keeper.h"

namespace dove::slurm {
namespace {

// Slurm job 77 waits for two devices.
class AdapterRoomsTest : public AdapterFixture {
 protected:
  AdapterRoomsTest() {
    JobSeen job;
    job.id = 77;
    job.user = "ada";
    job.partition = "inference";
    job.reason = kLacksRoom;
    job.asks.emplace();
    job.asks->memory_per_node = 1;
    slurm_.state.jobs.push_back(job);
    answer_.yields_to = {"inference"};
    adapter_.emplace(
        slurm_,
        [this](const SyncRequest& request) -> Result<SyncAnswer> {
          requests_.push_back(request);
          return answer_;
        },
        [this] { return now_us_; }, AdapterOptions{}, nullptr, nullptr, &rooms_);
  }
  void give_room(std::vector<int> devices) {
    want(std::move(devices));
    answer_.wanted[0].runs = true;
    answer_.wanted[0].foreign_job = "77";
  }
  PlaceholderReport report() const {
    EXPECT_EQ(last().placeholders.size(), 1u);
    return last().placeholders.at(0);
  }

  std::vector<std::int64_t> told_;
  RoomKeeper rooms_{[this](const GateRequest& request,
                           const std::vector<NodeSeen>&) -> Result<std::vector<GateJob>> {
                      told_.clear();
                      for (const GatePresent& one : request.present) told_.push_back(one.id);
                      return std::vector<GateJob>{};
                    },
                    "a1"};
};

TEST_F(AdapterRoomsTest, WhatLacksRoomIsToldWhereOursMakeRoom) {
  adapter_->cycle();
  EXPECT_EQ(told_, std::vector<std::int64_t>{77});
  answer_.yields_to.emplace();
  ++answer_.version;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_TRUE(told_.empty()) << "it is taken back";
}

TEST_F(AdapterRoomsTest, TheRoomIsLeftFreeAndWhoeverBeginsThereIsToldAtOnce) {
  slurm_.add("dove-9.1@dove", {1, 2}, placeholder_mark("dove-9.1@dove"));
  give_room({1, 2});
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(report().state, PlaceholderState::kAsked);
  EXPECT_EQ(slurm_.holder(1), nullptr) << "what ours had is released";
  EXPECT_EQ(slurm_.asked, 0) << "and nothing is asked for";
  JobSeen& job = slurm_.state.jobs.at(0);
  ASSERT_EQ(job.id, 77);
  job.phase = JobPhase::kHolding;
  job.allocations = {{"n1", {0}, {1, 2}, 0}};
  adapter_->cycle();
  EXPECT_EQ(report().state, PlaceholderState::kRefused);
  ASSERT_EQ(last().foreign.size(), 1u);
  EXPECT_EQ(last().foreign[0].id, 77);
}

TEST_F(AdapterRoomsTest, JobsOfAGateAreAnothersToSeeTo) {
  answer_.yields_to.reset();
  give_room({1, 2});
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_TRUE(last().placeholders.empty());
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace dove::slurm
