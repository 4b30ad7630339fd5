#include "slurm/adapter.h"

#include <gtest/gtest.h>

#include "slurm/adapter_fixture.h"

namespace dove::slurm {
namespace {

using AdapterTest = AdapterFixture;

TEST_F(AdapterTest, ReportsForeignJobsAndWaitsWhenNothingHasChanged) {
  slurm_.add("train", {1});
  adapter_->cycle();
  ASSERT_EQ(last().foreign.size(), 1u);
  EXPECT_EQ(last().foreign[0].allocations[0].devices, std::vector<int>{1});
  EXPECT_TRUE(last().complete);
  EXPECT_EQ(last().wait_s, 0);
  adapter_->cycle();
  EXPECT_EQ(last().wait_s, 1);
  EXPECT_EQ(last().number, 2);
  slurm_.state.jobs.clear();
  adapter_->cycle();
  EXPECT_EQ(last().wait_s, 0);
  EXPECT_TRUE(last().foreign.empty());
}

TEST_F(AdapterTest, WhatIsKeptForLaterIsNotToldToAControllerOfTheFirstLevel) {
  ReservationSeen course;
  course.name = "course";
  course.names = {"n1"};
  course.cores = 1;
  course.cores_of = {{"n1", {0}}};
  course.starts_s = 4'000'000'000;
  course.ends_s = 4'000'003'600;
  slurm_.state.in_part_later = {course};
  adapter_->cycle();
  EXPECT_TRUE(last().kept_cores.empty()) << "none has said its level";
  answer_.level = kFirstLevel + 1;
  adapter_->cycle();
  EXPECT_TRUE(last().kept_cores.empty()) << "a former one leads";
  adapter_->cycle();
  ASSERT_EQ(last().kept_cores.size(), 1u);
  answer_.level = kFirstLevel;
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_TRUE(last().kept_cores.empty());
  course.starts_s = 0;
  slurm_.state.in_part_later = {};
  slurm_.state.in_part = {course};
  adapter_->cycle();
  EXPECT_EQ(last().kept_cores.size(), 1u) << "it has begun";
}

TEST_F(AdapterTest, ANodeWhoseCoresSlurmCountsInAnotherWayIsClosed) {
  adapter_->cycle();
  answer_.machines = {{{"n1"}, slurm_.state.nodes[0].cores(), 1, 0}};
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().nodes.at(0).state, NodeSeen::State::kUp);
  ++answer_.machines[0].cores;
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().nodes.at(0).state, NodeSeen::State::kDrained);
  EXPECT_NE(last().nodes[0].reason.find("CoresPerSocket"), std::string::npos);
}

TEST_F(AdapterTest, APlaceholderIsHeldConfirmedAndReleased) {
  want({2});
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_FALSE(adapter_->cycle().changed);
  ASSERT_EQ(last().placeholders.size(), 1u);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(last().placeholders[0].devices, std::vector<int>{2});
  EXPECT_TRUE(last().foreign.empty()) << "ours are not foreign";
  EXPECT_EQ(last().seen, answer_.version);
  answer_.wanted.clear();
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_TRUE(slurm_.state.jobs.empty());
  EXPECT_EQ(slurm_.asked, 1);
}

TEST_F(AdapterTest, WhatEndedAndWasForgottenWhileItWasAwayIsToldAndAskedForAgain) {
  want({2});
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  const std::int64_t held = last().placeholders[0].id;
  answer_.wanted[0].held_by = held;
  (void)slurm_.release(held);  // FakeSlurm keeps no record
  restart();
  adapter_->cycle();
  EXPECT_TRUE(last().placeholders.empty()) << "it does not know yet what is wanted";
  adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kEnded);
  EXPECT_EQ(last().placeholders[0].id, held);
  EXPECT_EQ(slurm_.asked, 1) << "the ledger hears of it first";
  answer_.wanted[0].held_by = 0;
  ++answer_.version;
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  EXPECT_NE(last().placeholders[0].id, held);
  EXPECT_EQ(slurm_.asked, 2);
}

// Work of ours starts on what is not lent without anything for Slurm's users to take meanwhile.
TEST_F(AdapterTest, WhatIsNotLentIsHeldAtAllTimes) {
  answer_.lent = {{"n1"}, {{{"n1"}, {0, 1, 2}}}};
  want({3});
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kAsked);
  EXPECT_FALSE(adapter_->cycle().changed);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(last().placeholders[0].devices, std::vector<int>{3});
  EXPECT_TRUE(last().foreign.empty());
  const std::int64_t fence = slurm_.holder(3)->id;
  answer_.lent = {};  // lent from now on, but it is in use
  ++answer_.version;
  adapter_->cycle();
  EXPECT_EQ(slurm_.holder(3)->id, fence);
  restart();
  answer_.wanted.clear();
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_TRUE(slurm_.state.jobs.empty());
}

TEST_F(AdapterTest, AStandingFenceIsSuspendedAndAgainWhenSomebodyResumesIt) {
  answer_.lent = {{"n1"}, {{{"n1"}, {0, 1, 2}}}};
  adapter_->cycle();
  ASSERT_EQ(slurm_.state.jobs.size(), 1u);
  EXPECT_TRUE(slurm_.state.jobs[0].is_suspended());
  slurm_.state.jobs[0].state = "RUNNING";
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_TRUE(slurm_.state.jobs[0].is_suspended());
  EXPECT_FALSE(adapter_->cycle().changed);
}

// The adapter of before had one, and was ended while a job was starting.
TEST_F(AdapterTest, WithoutAGateItsFencesAreReleased) {
  slurm_.add("dove-fence-9.1@dove", {1}, placeholder_mark("dove-fence-9.1@dove")).state =
      "SUSPENDED";
  slurm_.add("dove-fence-9.1@other", {2}, placeholder_mark("dove-fence-9.1@other"));
  controller_down_ = true;
  slurm_.state.nodes[0].registered = false;  // Slurm would count its device as taken for good
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.size(), 2u);
  slurm_.state.nodes[0].registered = true;
  adapter_->cycle();
  ASSERT_EQ(slurm_.state.jobs.size(), 1u);
  EXPECT_EQ(slurm_.state.jobs[0].name, "dove-fence-9.1@other");
}

// Neither device is let go under work of ours, whatever Slurm says to the next fence.
TEST_F(AdapterTest, AFenceThatIsLostUnderWorkOfOursIsAskedForAgain) {
  answer_.lent = {{"n1"}, {{{"n1"}, {0, 1, 2}}}};
  want({2, 3});
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  const std::int64_t own = slurm_.holder(2)->id;
  (void)slurm_.release(slurm_.holder(3)->id);
  slurm_.refusal = {ErrorKind::kConflict, "no_room", "no core is free", ""};
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.holder(2)->id, own);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kAsked);
  slurm_.refusal = {};
  answer_.lent = {};  // lent from now on, but it is in use
  now_us_ += 40'000'000;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.holder(2)->id, own);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
}

TEST_F(AdapterTest, AJobThatSlurmRunsGetsADeviceThatWasKeptUntilNow) {
  answer_.lent = {{"n1"}, {{{"n1"}, {0, 1, 2}}}};
  adapter_->cycle();
  EXPECT_TRUE(is_standing_fence(*slurm_.holder(3), "dove"));
  answer_.lent = {};
  want({3});
  answer_.wanted[0].runs = true;
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.holder(3)->name, "dove-17.1@dove");
  EXPECT_EQ(slurm_.state.jobs.size(), 1u);
}

TEST_F(AdapterTest, AFenceThatSlurmRefusesIsAskedForAgainAndItsDevicePinnedMeanwhile) {
  answer_.lent = {{"n1"}, {{{"n1"}, {}}}};
  slurm_.refusal = {ErrorKind::kConflict, "no_room", "no core is free", ""};
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 1) << "one refusal is enough for a node";
  now_us_ += 1'000'000;
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 2) << "what has just ended may have been in its way";
  now_us_ += 1'000'000;
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 2) << "then after twice the time";
  slurm_.refusal = {};
  want({3});
  adapter_->cycle();
  EXPECT_EQ(slurm_.holder(3)->name, "dove-17.1@dove");
  now_us_ += 40'000'000;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.size(), 4u);
}

TEST_F(AdapterTest, ADrainCrossesOverOnceAndIsNoNewsToTheLedger) {
  answer_.drains = {{"n1", "gpu 2: xid 79"}};
  ++answer_.version;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.nodes[0].reason, "dovetail@dove: gpu 2: xid 79");
  adapter_->cycle();
  EXPECT_EQ(last().nodes[0].state, NodeSeen::State::kUp);
  EXPECT_EQ(slurm_.drains_set, 1);
  restart();  // it knows its drains again
  answer_.drains.clear();
  ++answer_.version;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.nodes[0].state, NodeSeen::State::kUp);
}

TEST_F(AdapterTest, ADrainThatFailedOrWasTakenBackIsMadeAgain) {
  answer_.drains = {{"n1", "gpu 2: xid 79"}};
  slurm_.drain_refusal = {ErrorKind::kTimeout, "too_slow", "scontrol: no end", ""};
  adapter_->cycle();
  slurm_.drain_refusal = {};
  adapter_->cycle();
  EXPECT_EQ(slurm_.drains_set, 0) << "not at each look";
  now_us_ += 5'000'000;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.nodes[0].state, NodeSeen::State::kDrained);
  now_us_ += 60'000'000;
  adapter_->cycle();
  slurm_.state.nodes[0].state = NodeSeen::State::kUp;  // slurmctld was killed, or somebody did
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.nodes[0].state, NodeSeen::State::kDrained);
  EXPECT_EQ(slurm_.drains_set, 2);
}

TEST_F(AdapterTest, ADrainOfSlurmsAdministratorsIsTheirs) {
  slurm_.state.nodes[0].state = NodeSeen::State::kDrained;
  slurm_.state.nodes[0].reason = "bad fan";
  answer_.drains = {{"n1", "gpu 2: xid 79"}};
  adapter_->cycle();
  answer_.drains.clear();
  adapter_->cycle();
  EXPECT_EQ(slurm_.drains_set, 0);
  EXPECT_EQ(last().nodes[0].state, NodeSeen::State::kDrained);
}

TEST_F(AdapterTest, ANewProcessFindsThePlaceholder) {
  want({2});
  adapter_->cycle();
  restart();
  adapter_->cycle();
  EXPECT_FALSE(adapter_->cycle().changed);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(slurm_.asked, 1);
}

TEST_F(AdapterTest, ARefusalIsReportedUntilItIsNoLongerWanted) {
  slurm_.refusal = Error{ErrorKind::kConflict, "no_room", "busy", ""};
  want({2});
  adapter_->cycle();
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kRefused);
  EXPECT_EQ(last().placeholders[0].why, "busy");
  EXPECT_EQ(slurm_.asked, 1);
  now_us_ += kAskAgain_s * 1'000'000;
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 2) << "it is wanted still: work runs there";
  answer_.wanted.clear();
  adapter_->cycle();
  slurm_.refusal = {};
  want({2});
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 3);
}

// Our job of the higher priority takes the place of the other, which Slurm ends for a while.
TEST_F(AdapterTest, WhileWhatMadeRoomIsEndingItKeepsItsPlaceAndIsThenAskedForAgain) {
  for (const std::vector<int>& devices : {std::vector<int>{2}, std::vector<int>{}}) {
    slurm_.state.jobs.clear();
    slurm_.asked = 0;
    slurm_.ends_slowly = true;
    want(devices);
    for (int i = 0; i < 2; ++i) adapter_->cycle();
    ASSERT_EQ(last().placeholders.at(0).state, PlaceholderState::kConfirmed);
    answer_.wanted[0].key.job = 18;
    ++answer_.version;
    // Without a device it is the cores that are missing.
    slurm_.refusal = Error{ErrorKind::kConflict, "no_room", "nodes are busy", ""};
    EXPECT_TRUE(adapter_->cycle().changed) << "the next look is due at once";
    for (int i = 0; i < 3; ++i) adapter_->cycle();
    EXPECT_EQ(slurm_.asked, 2) << "not at each look";
    EXPECT_EQ(last().placeholders.at(0).state, PlaceholderState::kAsked);
    EXPECT_NE(last().placeholders[0].why.find("still ending"), std::string::npos);
    slurm_.refusal = {};
    slurm_.state.jobs.clear();
    for (int i = 0; i < 2; ++i) adapter_->cycle();
    EXPECT_EQ(last().placeholders.at(0).state, PlaceholderState::kConfirmed);
    EXPECT_EQ(slurm_.asked, 3);
  }
}

TEST_F(AdapterTest, WhatIsRefusedAfterThatEndIsRefused) {
  slurm_.ends_slowly = true;
  want({2});
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  answer_.wanted[0].key.job = 18;
  ++answer_.version;
  slurm_.refusal = Error{ErrorKind::kConflict, "no_room", "the partition is down", ""};
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(last().placeholders.at(0).state, PlaceholderState::kAsked);
  slurm_.state.jobs.clear();
  slurm_.add("dove-9.1@dove", {3}, placeholder_mark("dove-9.1@dove")).phase = JobPhase::kEnding;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(last().placeholders.at(0).state, PlaceholderState::kRefused);
  EXPECT_EQ(last().placeholders[0].why, "the partition is down");
}

TEST_F(AdapterTest, OneThatItsUserWillNeverBeGivenEndsItsJobAsOneThatCouldNotBegin) {
  slurm_.refusal = Error{ErrorKind::kDenied, kUser_refused, "no account", ""};
  want({2});
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_TRUE(last().works.empty()) << "our agent runs it: the placeholder is the adapter's own";
  answer_.wanted[0].key.attempt = 2;
  answer_.wanted[0].runs = true;
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().works, (std::vector<WorkReport>{{{17, 2, "n1"}, true, {}, "no account"}}));
}

// As many as one cycle asks for, and Slurm's scheduler does not look.
TEST_F(AdapterTest, WhatSlurmStartsLaterHoldsNothingElseUp) {
  slurm_.starts_later = true;
  for (int job = 1; job <= kChangesMax; ++job) {
    Wanted one;
    one.key = {job, 1, "n1"};
    one.user = "ada";
    one.runs = true;
    answer_.wanted.push_back(one);
  }
  adapter_->cycle(Look::kAll);
  for (int i = 0; i < 3; ++i) adapter_->cycle(Look::kJobs);
  EXPECT_EQ(slurm_.asked, kChangesMax) << "each once";
  EXPECT_EQ(slurm_.state.jobs.size(), std::size_t{kChangesMax});
  for (const auto& one : last().placeholders) EXPECT_EQ(one.state, PlaceholderState::kAsked);
  JobSeen& first = slurm_.state.jobs.front();
  first.phase = JobPhase::kHolding;
  first.state = "RUNNING";
  first.allocations = {{"n1", {0}, {}, 0}};
  adapter_->cycle(Look::kJobs);
  EXPECT_EQ(last().placeholders.front().state, PlaceholderState::kConfirmed);
  now_us_ += kStart_s * 1'000'000;
  adapter_->cycle(Look::kJobs);
  EXPECT_EQ(slurm_.state.jobs.size(), 1u) << "what has no room goes";
  EXPECT_EQ(last().placeholders.back().state, PlaceholderState::kRefused);
}

TEST_F(AdapterTest, AReportCountsAsTakenWhenItsVersionIsTheControllersOwn) {
  slurm_.add("train", {1});
  answer_.version = 70;
  EXPECT_TRUE(adapter_->cycle().changed) << "a hello: the next call is due at once";
  EXPECT_EQ(last().seen, 0);
  EXPECT_FALSE(adapter_->cycle().changed);
  EXPECT_EQ(last().seen, 70);
  EXPECT_EQ(last().wait_s, 0);
  adapter_->cycle();
  EXPECT_EQ(last().wait_s, 1);
  answer_.version = 30;  // the controller began anew
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().wait_s, 0) << "it has to hear all of it again";
}

TEST_F(AdapterTest, AnotherAdapterInOurPlace) {
  controller_down_ = true;
  EXPECT_FALSE(adapter_->cycle().replaced);
  refusal_code_ = "adapter_replaced";
  EXPECT_TRUE(adapter_->cycle().replaced);
}

TEST_F(AdapterTest, SlurmsSilenceIsNoRefusal) {
  slurm_.refusal = Error{ErrorKind::kTimeout, "too_slow", "salloc: no end", ""};
  want({2});
  adapter_->cycle();
  slurm_.refusal = {};
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
}

TEST_F(AdapterTest, NothingHasEndedWhileSlurmIsSilent) {
  slurm_.add("train", {1});
  want({2});
  adapter_->cycle();
  adapter_->cycle();
  slurm_.silent = true;
  answer_.wanted.clear();
  const CycleEnd end = adapter_->cycle();
  EXPECT_FALSE(end.slurm_answers);
  EXPECT_FALSE(last().complete);
  EXPECT_EQ(last().foreign.size(), 1u);
  EXPECT_EQ(last().placeholders.size(), 1u);
  EXPECT_EQ(slurm_.state.jobs.size(), 2u) << "nothing is released meanwhile";
  slurm_.silent = false;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.size(), 1u);
}

TEST_F(AdapterTest, NothingChangesInSlurmWhileTheControllerIsSilent) {
  want({2});
  adapter_->cycle();
  answer_.wanted.clear();
  controller_down_ = true;
  EXPECT_FALSE(adapter_->cycle().controller_answers);
  EXPECT_EQ(slurm_.state.jobs.size(), 1u);
  restart();
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.size(), 1u) << "it does not know yet what is wanted";
}

// Its job's limit has passed meanwhile: it runs on, since nobody stops it.
TEST_F(AdapterTest, APlaceholderDoesNotEndWhileTheControllerIsSilent) {
  want({2});
  answer_.wanted[0].until_s = kStart_us / 1'000'000 + 600;
  adapter_->cycle();
  const std::int64_t end = slurm_.state.jobs.at(0).ends_s;
  controller_down_ = true;
  restart();
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.at(0).ends_s, end);
  now_us_ += 700 * 1'000'000;
  adapter_->cycle();
  EXPECT_GT(slurm_.state.jobs.at(0).ends_s, end);
  now_us_ += 120 * 1'000'000;
  adapter_->cycle();
  EXPECT_GT(slurm_.state.jobs.at(0).ends_s, now_us_ / 1'000'000 + 60);
}

TEST_F(AdapterTest, AnEndIsToldBeforeItIsAskedForAgain) {
  want({2});
  adapter_->cycle();
  slurm_.state.jobs[0].phase = JobPhase::kEnded;
  slurm_.state.jobs[0].state = "CANCELLED";
  controller_down_ = true;
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 1);
  controller_down_ = false;
  adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kEnded);
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 2);
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
}

// Slurm 22.05 names no devices of a job that is ending, and gives them to others meanwhile.
TEST_F(AdapterTest, AJobThatIsEndingKeepsItsDevices) {
  JobSeen& job = slurm_.add("train", {1});
  adapter_->cycle();
  job.phase = JobPhase::kEnding;
  job.devices_known = false;
  job.allocations[0].devices.clear();
  adapter_->cycle();
  EXPECT_EQ(last().foreign[0].allocations[0].devices, std::vector<int>{1});
  adapter_->cycle();
  EXPECT_EQ(last().foreign[0].allocations[0].devices, std::vector<int>{1});
  slurm_.add("other", {3});
  restart();
  adapter_->cycle();
  EXPECT_EQ(last().foreign[0].allocations[0].devices, (std::vector<int>{0, 1, 2}))
      << "all that no other job has, where nobody knows";
}

TEST_F(AdapterTest, ALookAtJobsLeavesTheNodesAsTheyWere) {
  adapter_->cycle(Look::kJobs);
  EXPECT_EQ(slurm_.looks_at_nodes, 1) << "it knew none";
  slurm_.add("train", {1});
  adapter_->cycle(Look::kJobs);
  EXPECT_EQ(slurm_.looks_at_nodes, 1);
  EXPECT_EQ(last().foreign.size(), 1u);
  EXPECT_EQ(last().nodes.size(), 1u);
  slurm_.silent = true;
  adapter_->cycle(Look::kJobs);
  EXPECT_FALSE(last().complete);
  slurm_.silent = false;
  adapter_->cycle(Look::kJobs);
  EXPECT_EQ(slurm_.looks_at_nodes, 2) << "after a silence all is looked at";
  slurm_.add("more", {2});
  adapter_->cycle(Look::kNone);
  EXPECT_EQ(last().foreign.size(), 1u);
}

}  // namespace
}  // namespace dove::slurm
