#include "slurm/fences/put_back.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "slurm/adapter_fixture.h"

namespace dove::slurm {
namespace {

using PutBackTest = AdapterFixture;

TEST_F(PutBackTest, AJobIsPutBackOnceFencesWaitForWhatItLeaves) {
  JobSeen& theirs = slurm_.add("train", {0, 1, 2, 3});
  const std::int64_t id = theirs.id;
  theirs.may_requeue = true;
  answer_.put_backs = {{id, 17}};
  answer_.kept = {{"n1", {1, 2}}};
  ++answer_.version;
  adapter_->cycle();
  EXPECT_TRUE(slurm_.requeued.empty()) << "Slurm's next job would have what it leaves";
  EXPECT_EQ(slurm_.asked, 2);
  EXPECT_TRUE(adapter_->cycle().changed);
  EXPECT_EQ(slurm_.requeued, std::vector<std::string>{std::to_string(id)});
  EXPECT_EQ(slurm_.state.jobs[0].mark,
            "put back by dovetail@dove for its job 17 of higher priority");
  EXPECT_EQ(slurm_.holder(1)->name, "dove-keep-n1.1@dove");
  restart();  // it knows them again
  answer_.put_backs.clear();
  adapter_->cycle();
  adapter_->cycle();
  EXPECT_TRUE(last().foreign.empty()) << "the fences are ours";
  EXPECT_TRUE(slurm_.holder(1)->is_suspended());
  answer_.kept.clear();  // the job is launched there
  want({1, 2});
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(last().placeholders[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(slurm_.holder(1)->name, "dove-keep-n1.1@dove") << "it was in nobody's reach";
  answer_.wanted.clear();
  ++answer_.version;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.holder(1), nullptr);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(PutBackTest, NobodyIsPutBackWithoutAFenceOrAWord) {
  JobSeen& theirs = slurm_.add("train", {0, 1, 2, 3});
  const std::int64_t id = theirs.id;
  answer_.put_backs = {{id, 17}};
  answer_.kept = {{"n1", {1}}};
  ++answer_.version;
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 0) << "it cannot run again";
  slurm_.state.jobs[0].may_requeue = true;
  slurm_.refusal = {ErrorKind::kConflict, "no_room", "busy", ""};
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_TRUE(slurm_.requeued.empty());
  slurm_.refusal = {};
  now_us_ += 60'000'000;
  adapter_->cycle();
  ASSERT_EQ(slurm_.state.jobs.size(), 2u);
  EXPECT_EQ(slurm_.state.jobs[1].phase, JobPhase::kWaiting);
  controller_down_ = true;
  adapter_->cycle();
  EXPECT_EQ(slurm_.state.jobs.size(), 1u) << "nothing waits for what may be wanted no more";
  EXPECT_TRUE(slurm_.requeued.empty());
}

TEST_F(PutBackTest, OneThatHasBegunAgainIsLeftAloneForLongerAndLonger) {
  JobSeen& theirs = slurm_.add("train", {0});
  theirs.may_requeue = true;
  const auto makes_room_after = [&](std::int64_t restarts) {
    slurm_.state.jobs[0].restarts = restarts;
    slurm_.state.jobs[0].started_s = now_us_ / 1'000'000;
    for (std::int64_t minute = 0;; ++minute) {
      adapter_->cycle();
      if (last().foreign.at(0).may_requeue) return minute;
      now_us_ += 60'000'000;
    }
  };
  EXPECT_EQ(makes_room_after(0), 0);
  EXPECT_EQ(makes_room_after(1), 1);
  EXPECT_EQ(makes_room_after(2), 2);
  EXPECT_EQ(makes_room_after(3), 4);
  EXPECT_EQ(makes_room_after(7), 64);
  EXPECT_EQ(makes_room_after(1000), 64);
  // It stands where a promise was made before: it is not put back in a circle.
  answer_.put_backs = {{slurm_.state.jobs[0].id, 17}};
  answer_.kept = {{"n1", {0}}};
  ++answer_.version;
  slurm_.state.jobs[0].started_s = now_us_ / 1'000'000;
  for (int i = 0; i < 3; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 0);
  EXPECT_TRUE(slurm_.requeued.empty());
}

// Slurm counts the restart when it is asked for. Without the promise its fences would go.
TEST_F(PutBackTest, OneThatIsEndingSinceItWasPutBackStillMakesRoom) {
  JobSeen& theirs = slurm_.add("train", {0});
  theirs.may_requeue = true;
  theirs.started_s = now_us_ / 1'000'000;
  adapter_->cycle();
  EXPECT_TRUE(last().foreign.at(0).may_requeue);
  slurm_.state.jobs[0].phase = JobPhase::kEnding;
  slurm_.state.jobs[0].restarts = 1;
  adapter_->cycle();
  EXPECT_TRUE(last().foreign.at(0).may_requeue);
}

// A job that a fence waits for, once the adapter has looked: the next cycle has it put back.
class WarnedTest : public AdapterFixture {
 protected:
  WarnedTest() {
    slurm_.add("train", {0}).may_requeue = true;
    slurm_.wants_signal_s = 90;
    answer_.put_backs = {{job().id, 17}};
    answer_.kept = {{"n1", {0}}};
    ++answer_.version;
    adapter_->cycle();
  }
  JobSeen& job() { return slurm_.state.jobs[0]; }
  void cycle_after(std::int64_t seconds) {
    now_us_ += seconds * 1'000'000;
    adapter_->cycle();
  }
};

TEST_F(WarnedTest, AJobGetsItsUsersSignalAndTheTimeThatItsUserWants) {
  cycle_after(0);
  EXPECT_EQ(slurm_.warned, std::vector<std::string>{job().handle});
  cycle_after(89);
  EXPECT_TRUE(slurm_.requeued.empty());
  EXPECT_EQ(job().mark.find("put back by dovetail@dove for its job 17 of higher priority at "), 0u);
  cycle_after(1);
  EXPECT_EQ(slurm_.warned.size(), 1u);
  EXPECT_EQ(slurm_.requeued, slurm_.warned);
  EXPECT_EQ(job().mark, "put back by dovetail@dove for its job 17 of higher priority");
}

TEST_F(WarnedTest, TheNextAdapterDoesNotSendItAgain) {
  cycle_after(0);
  restart();
  cycle_after(60);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(30);
  EXPECT_EQ(slurm_.warned.size(), 1u);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(WarnedTest, ATimeThatAnotherClockSaidIsWaitedForNoLonger) {
  job().mark = put_back_words(17, "dove", now_us_ / 1'000'000 + 86'400);
  cycle_after(0);
  cycle_after(599);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(1);
  EXPECT_TRUE(slurm_.warned.empty());
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(WarnedTest, ASignalThatWasLostIsSentAgain) {
  slurm_.warning_refusal = {ErrorKind::kTimeout, "too_slow", "no end", ""};
  cycle_after(0);
  EXPECT_TRUE(slurm_.requeued.empty());
  slurm_.warning_refusal = {};
  cycle_after(1);
  EXPECT_EQ(slurm_.warned.size(), 1u);
  cycle_after(89);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(1);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(WarnedTest, OneThatCannotBeSentIsNotWaitedFor) {
  slurm_.warning_refusal = {ErrorKind::kUnavailable, "slurm_command", "Unknown job signal", ""};
  cycle_after(0);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(WarnedTest, TenMinutesAtMostAndWhereTheSiteSaysSoNone) {
  slurm_.wants_signal_s = 65'535;
  cycle_after(0);
  cycle_after(599);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(1);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
  EXPECT_EQ(read_signal_wait("2m").value(), 120);
  EXPECT_FALSE(read_signal_wait("11m").ok());
  EXPECT_FALSE(read_signal_wait("soon").ok());
}

TEST_F(WarnedTest, OneThatStaysAfterAllIsWarnedAgainTheNextTime) {
  cycle_after(0);
  const std::vector<PutBack> wanted = std::exchange(answer_.put_backs, {});
  cycle_after(0);
  answer_.put_backs = wanted;
  cycle_after(3600);
  cycle_after(0);
  EXPECT_EQ(slurm_.warned.size(), 2u);
  EXPECT_TRUE(slurm_.requeued.empty());
}

TEST_F(WarnedTest, WhatItWasToldGoesWhenItStaysAfterAll) {
  cycle_after(0);
  EXPECT_NE(job().mark, "");
  const std::vector<PutBack> wanted = std::exchange(answer_.put_backs, {});
  cycle_after(0);
  EXPECT_EQ(job().mark, "");
  // Within the time of the first one, which is over.
  answer_.put_backs = wanted;
  cycle_after(30);
  cycle_after(0);
  EXPECT_EQ(slurm_.warned.size(), 2u);
  cycle_after(89);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(1);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(WarnedTest, AnAdapterThatStartsLaterTakesTheWordsBackToo) {
  cycle_after(0);
  answer_.put_backs.clear();
  restart();
  cycle_after(0);
  cycle_after(0);
  EXPECT_EQ(job().mark, "");
  job().mark = "a comment of the site at 1900000000";
  cycle_after(0);
  EXPECT_NE(job().mark, "");
}

// Several clusters may share a Slurm.
TEST_F(WarnedTest, WordsOfAnotherClusterStay) {
  const std::string theirs = put_back_words(3, "other", now_us_ / 1'000'000 + 90);
  job().mark = theirs;
  const std::vector<PutBack> wanted = std::exchange(answer_.put_backs, {});
  cycle_after(0);
  EXPECT_EQ(job().mark, theirs);
  // It is put back by us, too: theirs are not what we have said.
  answer_.put_backs = wanted;
  cycle_after(0);
  cycle_after(0);
  EXPECT_EQ(job().mark, theirs);
  EXPECT_EQ(slurm_.warned.size(), 1u);
}

// Its adapter may be gone for good.
TEST_F(WarnedTest, WordsOfAnotherClusterGiveWayOnceTheirTimeHasPassed) {
  job().mark = put_back_words(3, "other", now_us_ / 1'000'000 + 90);
  const std::vector<PutBack> wanted = std::exchange(answer_.put_backs, {});
  cycle_after(300);
  answer_.put_backs = wanted;
  cycle_after(0);
  cycle_after(0);
  EXPECT_NE(job().mark.find("@dove for its job"), std::string::npos) << job().mark;
  EXPECT_EQ(slurm_.warned.size(), 1u);
}

TEST_F(WarnedTest, WordsOfAFormerVersionGoOnceTheirTimeHasPassed) {
  const std::string former = fmt::format(
      "put back by dovetail for its job 3 of higher priority at {}", now_us_ / 1'000'000 + 90);
  job().mark = former;
  answer_.put_backs.clear();
  cycle_after(0);
  EXPECT_EQ(job().mark, former) << "they may be another cluster's";
  cycle_after(91);
  EXPECT_EQ(job().mark, "");
}

TEST_F(WarnedTest, AClockThatIsSetBackMakesItsTimeNoLonger) {
  cycle_after(0);
  EXPECT_EQ(slurm_.warned.size(), 1u);
  cycle_after(40);
  cycle_after(-30);
  cycle_after(49);
  EXPECT_TRUE(slurm_.requeued.empty());
  cycle_after(1);
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(PutBackTest, WithoutTimeForSignalsNoneIsSent) {
  JobSeen theirs;
  theirs.id = 7;
  theirs.handle = "7";
  theirs.phase = JobPhase::kHolding;
  theirs.may_requeue = true;
  theirs.allocations = {{"n1", {}, {0}, 0}};
  JobSeen fence;
  fence.id = 8;
  fence.name = standing_fence_name("n1", 0, "dove");
  fence.mark = placeholder_mark(fence.name);
  Observed seen;
  seen.jobs = {theirs, fence};
  slurm_.wants_signal_s = 90;
  FenceKeeper keeper(
      slurm_, [this] { return now_us_; }, "dove", 0);
  keeper.keep(seen, {{"n1", {0}}}, {{7, 17}}, {});
  EXPECT_TRUE(slurm_.warned.empty());
  EXPECT_EQ(slurm_.requeued.size(), 1u);
}

TEST_F(PutBackTest, AFewAtATimeSoThatTheNextLookIsNotLate) {
  Observed seen;
  std::vector<PutBack> wanted;
  DevicesOfNodes kept;
  for (int i = 1; i <= kChangesMax + 6; ++i) {
    JobSeen theirs;
    theirs.id = i;
    theirs.handle = std::to_string(i);
    theirs.phase = JobPhase::kHolding;
    theirs.may_requeue = true;
    theirs.allocations = {{"n" + theirs.handle, {}, {0}, 0}};
    JobSeen fence;
    fence.id = 1000 + i;
    fence.phase = JobPhase::kWaiting;
    fence.name = standing_fence_name(theirs.allocations[0].node, 0, "dove");
    fence.mark = placeholder_mark(fence.name);
    kept[theirs.allocations[0].node] = {0};
    wanted.push_back({theirs.id, 17});
    seen.jobs.push_back(std::move(theirs));
    seen.jobs.push_back(std::move(fence));
  }
  const auto now = [this] { return now_us_; };
  FenceKeeper keeper(slurm_, now, "dove", 0);
  EXPECT_TRUE(keeper.keep(seen, kept, wanted, {})) << "a look is due at once";
  EXPECT_EQ(slurm_.requeued.size(), static_cast<std::size_t>(kChangesMax));
  keeper.keep(seen, kept, wanted, {});
  EXPECT_EQ(slurm_.requeued.size(), wanted.size());
  slurm_.wants_signal_s = 90;
  FenceKeeper warning(slurm_, now, "dove");
  for (const std::size_t sent : {16u, 32u}) {
    warning.keep(seen, kept, wanted, {});
    EXPECT_EQ(slurm_.warned.size(), sent) << "a signal takes more than one command";
  }
}

// The last task of an array has the array's number.
TEST_F(WarnedTest, WhatATaskOfAnArrayIsToldIsNotSaidOfItsArray) {
  const std::string array = std::to_string(job().id);
  job().handle = array + "_8";
  slurm_.add("train", {1}, "billed to ada").handle = array + "_7";
  const auto comment_of_sibling = [&] { return slurm_.state.jobs.back().mark; };
  cycle_after(0);
  EXPECT_EQ(slurm_.warned, std::vector<std::string>{job().handle});
  EXPECT_NE(job().mark, "");
  EXPECT_EQ(comment_of_sibling(), "billed to ada");
  answer_.put_backs.clear();
  cycle_after(0);
  EXPECT_EQ(job().mark, "");
  EXPECT_EQ(comment_of_sibling(), "billed to ada");
}

TEST_F(PutBackTest, ACommentOfTheSiteStays) {
  JobSeen& theirs = slurm_.add("train", {0}, "billed to ada");
  theirs.may_requeue = true;
  answer_.put_backs = {{theirs.id, 17}, {theirs.id, 18}};
  answer_.kept = {{"n1", {0}}};
  ++answer_.version;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.requeued.size(), 1u);
  EXPECT_EQ(slurm_.state.jobs[0].mark, "billed to ada");
}

}  // namespace
}  // namespace dove::slurm
