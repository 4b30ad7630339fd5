#include "slurm/rooms/room_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

// Slurm job 77 of the partition "inference" lacks two GPUs.
class RoomKeeperTest : public testing::Test {
 protected:
  RoomKeeperTest() {
    seen.nodes = slurm.state.nodes;
    seen.jobs.push_back(waiting(77));
  }
  static JobSeen waiting(std::int64_t id, std::int64_t priority = 10) {
    JobSeen job;
    job.id = id;
    job.user = "ada";
    job.account = "serving";
    job.partition = "inference";
    job.state = "PENDING";
    job.reason = kLacksRoom;
    job.priority = priority;
    job.asks.emplace();
    job.asks->gpus_per_node = 2;
    job.asks->memory_per_node = 1;
    return job;
  }
  JobSeen& job() { return seen.jobs[0]; }
  // The ids of those that are named, and of those that are handed in.
  std::vector<std::int64_t> tell() {
    told = {};
    handed_in.clear();
    keeper.tell(seen, {"inference"}, now_s);
    std::vector<std::int64_t> ids;
    for (const GatePresent& one : told.present) ids.push_back(one.id);
    return ids;
  }
  UserWord word() { return told.present.at(0).word; }

  FakeSlurm slurm;
  Observed seen;
  std::int64_t now_s = 1000;
  GateRequest told;
  std::vector<std::int64_t> handed_in;
  int calls = 0;
  GateJob::State says = GateJob::State::kWaiting;
  std::int64_t refuses_from = INT64_MAX;  // these ids, whatever it says of the others
  bool fails = false;
  RoomKeeper keeper{
      [this](const GateRequest& request,
             const std::vector<NodeSeen>&) -> Result<std::vector<GateJob>> {
        ++calls;
        told = request;
        for (const JobSeen* one : request.jobs) {
          handed_in.push_back(one->id);
          EXPECT_TRUE(one->gate) << "what it asks for";
        }
        told.jobs.clear();
        if (fails) return Error{ErrorKind::kUnavailable, "connection_refused", "no", ""};
        std::vector<GateJob> answer;
        for (const GatePresent& one : request.present)
          answer.push_back(
              {one.id, 17, one.id >= refuses_from ? GateJob::State::kRefused : says, "no"});
        return answer;
      },
      "a1"};
};

using Ids = std::vector<std::int64_t>;

TEST_F(RoomKeeperTest, WhatLacksRoomIsHandedInOnceAndNamedAsLongAsItWaits) {
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_TRUE(told.room);
  EXPECT_EQ(told.incarnation, "a1");
  EXPECT_EQ(handed_in, Ids{77});
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_EQ(told.present[0].job, 17);
  EXPECT_TRUE(handed_in.empty());
  job().phase = JobPhase::kHolding;
  EXPECT_TRUE(tell().empty());
  EXPECT_EQ(calls, 3) << "it is taken back";
  tell();
  EXPECT_EQ(calls, 3) << "nothing is known there";
}

TEST_F(RoomKeeperTest, OnlyWhatTheLedgerPlacesForCertain) {
  const JobSeen first = std::exchange(seen.jobs, {}).at(0);
  tell();
  now_s += kPassedOver_s;
  seen.jobs.push_back(first);
  const auto is_told = [&](auto change) {
    seen.jobs[0] = waiting(77);
    change(seen.jobs[0]);
    return !tell().empty();
  };
  EXPECT_FALSE(is_told([](JobSeen& one) { one.partition = "main"; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.partition = "main,inference"; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.asks->array_tasks = "1-4"; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.asks->reservation = "course"; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.asks->depends = true; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.asks->cannot = "GPUs by socket"; }));
  EXPECT_FALSE(is_told([](JobSeen& one) { one.mark = placeholder_mark("dove-keep-n1.0@dove"); }));
  EXPECT_FALSE(is_told([](JobSeen& one) {
    one.reason = "Priority";
    one.asks.reset();
  }));
  EXPECT_TRUE(is_told([](JobSeen& one) { one.mark = "put back by dovetail for its job 9"; }));
}

TEST_F(RoomKeeperTest, WhatSlurmPassesOverIsHeldUntilItLacksRoomAgain) {
  tell();
  job().reason = "Priority";
  job().asks.reset();
  now_s += kPassedOver_s - 1;
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_EQ(word(), UserWord::kNone) << "reasons come and go";
  now_s += 1;
  tell();
  EXPECT_EQ(word(), UserWord::kHold);
  job() = waiting(77);
  tell();
  EXPECT_EQ(word(), UserWord::kRelease);
  job().reason = "JobHeldUser";
  job().asks.reset();
  tell();
  EXPECT_EQ(word(), UserWord::kHold) << "at once";
}

TEST_F(RoomKeeperTest, ThoseOfTheHighestPriorityAreTold) {
  for (std::int64_t id = 100; id < 200; ++id) seen.jobs.push_back(waiting(id, id));
  const std::vector<std::int64_t> ids = tell();
  ASSERT_EQ(ids.size(), kRoomsMax);
  EXPECT_EQ(ids.front(), 199);
}

TEST_F(RoomKeeperTest, WhatIsRefusedIsHandedInAgainLater) {
  says = GateJob::State::kRefused;
  tell();
  EXPECT_EQ(handed_in, Ids{77});
  now_s += 59;
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_TRUE(handed_in.empty());
  now_s += 1;
  tell();
  EXPECT_EQ(handed_in, Ids{77});
}

TEST_F(RoomKeeperTest, WhatIsRefusedTakesNoOtherOnesTurn) {
  refuses_from = 100;
  for (std::int64_t id = 100; id < 180; ++id) seen.jobs.push_back(waiting(id, id));
  for (int i = 0; i < 3; ++i) tell();
  EXPECT_EQ(std::count(handed_in.begin(), handed_in.end(), 77), 1) << "those above it get nothing";
  for (int i = 0; i < 3; ++i) {
    now_s += 60;
    const Ids ids = tell();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 77), 1) << "it is not taken back for them";
    EXPECT_EQ(ids.size(), kRoomsMax);
  }
}

// Its reason is a passing one just then.
TEST_F(RoomKeeperTest, WhatAFormerProcessToldStaysForAMinute) {
  job().reason = "Priority";
  job().asks.reset();
  fails = true;
  EXPECT_EQ(tell(), Ids{77});
  fails = false;
  now_s += kPassedOver_s;
  EXPECT_EQ(tell(), Ids{77}) << "nobody has heard it yet";
  EXPECT_TRUE(handed_in.empty()) << "nor what it asks for";
  now_s += kPassedOver_s - 1;
  EXPECT_EQ(tell(), Ids{77});
  now_s += 1;
  EXPECT_TRUE(tell().empty());
  EXPECT_EQ(calls, 4) << "it is taken back";
  tell();
  EXPECT_EQ(calls, 4);
}

TEST_F(RoomKeeperTest, WhatAFormerProcessToldIsTakenBackOnce) {
  seen.jobs.clear();
  fails = true;
  tell();
  tell();
  EXPECT_EQ(calls, 2) << "until it is heard";
  fails = false;
  tell();
  tell();
  EXPECT_EQ(calls, 3);
}

// The controller knows whether somebody cancelled it, or we did.
TEST_F(RoomKeeperTest, WhatEndedHereIsHandedInAgainLater) {
  tell();
  says = GateJob::State::kEnded;
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_EQ(tell(), Ids{77});
  EXPECT_TRUE(handed_in.empty());
  now_s += 60;
  tell();
  EXPECT_EQ(handed_in, Ids{77});
  EXPECT_EQ(told.present.at(0).job, 0);
}

}  // namespace
}  // namespace dove::slurm
