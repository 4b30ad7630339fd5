#include "slurm/plan.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

constexpr std::int64_t kNow_s = 1'000'000;

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    NodeSeen node;
    node.device_types = {"h_0", "h_1", "h_2", "h_3"};
    node.partitions = {"main"};
    for (const char* name : {"n1", "n2"}) {
      node.name = name;
      seen_.nodes.push_back(node);
    }
  }

  static Wanted wanted(std::int64_t job, const char* node, std::vector<int> devices) {
    Wanted one;
    one.key = {job, 1, node};
    one.cores = {4, 5};
    one.devices = std::move(devices);
    one.memory_bytes = std::int64_t{4} << 30;
    one.user = "bob";
    return one;
  }

  JobSeen& job(std::int64_t id, const std::string& name, const char* node,
               std::vector<int> devices) {
    JobSeen job;
    job.id = id;
    job.name = name;
    job.user = "ada";
    job.phase = JobPhase::kHolding;
    job.state = "RUNNING";
    job.started_s = kNow_s;
    job.allocations = {{node, {0}, std::move(devices), 0}};
    seen_.jobs.push_back(job);
    return seen_.jobs.back();
  }

  JobSeen& placeholder(std::int64_t id, std::int64_t of_job, const char* node,
                       std::vector<int> devices) {
    JobSeen& made = job(id, placeholder_name(of_job, 1, "dove"), node, std::move(devices));
    made.mark = kMark;
    return made;
  }

  Plan make(const std::vector<Wanted>& wanted) {
    return plan(seen_, wanted, kept_, memory_, "dove", kNow_s);
  }

  static void expect_refused(const Plan& plan, const std::string& words) {
    EXPECT_TRUE(plan.submit.empty());
    ASSERT_EQ(plan.reports.size(), 1u);
    EXPECT_EQ(plan.reports[0].state, PlaceholderState::kRefused);
    EXPECT_NE(plan.reports[0].why.find(words), std::string::npos) << plan.reports[0].why;
    EXPECT_EQ(plan.newly_refused.size(), 1u);
  }

  Observed seen_;
  DevicesOfNodes kept_;
  PlanMemory memory_;
};

using Ids = std::vector<std::int64_t>;

TEST(PlaceholderName, BothWays) {
  EXPECT_EQ(placeholder_name(17, 2, "dove"), "dove-17.2@dove");
  EXPECT_EQ(read_placeholder_name("dove-17.2@dove", "dove"), JobAttempt(17, 2));
  for (const char* other : {"dove-17.2@lab", "dove-17.2", "dove-17.2@dove ", "dove-017.2@dove",
                            "train", "dove-17@dove", "dove-x.2@dove", "dove--1.x@dove"}) {
    EXPECT_FALSE(read_placeholder_name(other, "dove").has_value()) << other;
  }
}

TEST_F(PlanTest, WhatIsWantedAndNotHeldIsAskedForByTypeOfItsDevice) {
  Wanted one = wanted(17, "n1", {2});
  one.until_s = kNow_s + 3600;
  const Plan plan = make({one});
  ASSERT_EQ(plan.submit.size(), 1u);
  const Ask& ask = plan.submit[0].ask;
  EXPECT_EQ(ask.name, "dove-17.1@dove");
  EXPECT_EQ(ask.node, "n1");
  EXPECT_EQ(ask.gres, "gpu:h_2:1");
  EXPECT_EQ(ask.cpus, 2);
  EXPECT_EQ(ask.memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(ask.limit_minutes, 62);
  EXPECT_EQ(ask.user, "bob");
  EXPECT_EQ(ask.partitions, std::vector<std::string>{"main"});
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kAsked);
}

TEST_F(PlanTest, CoresAreAskedForWithAllTheirThreads) {
  seen_.nodes[0].cpus_per_core = 2;
  EXPECT_EQ(make({wanted(17, "n1", {})}).submit[0].ask.cpus, 4);
}

TEST_F(PlanTest, AnAnswerThatNamesItTwiceAsksOnce) {
  EXPECT_EQ(make({wanted(17, "n1", {2}), wanted(17, "n1", {2})}).submit.size(), 1u);
}

TEST_F(PlanTest, WhatIsHeldAsWantedIsConfirmedWithItsDevicesAndNotAskedForAgain) {
  placeholder(1300, 17, "n1", {1, 3});
  const Plan plan = make({wanted(17, "n1", {3, 1})});
  EXPECT_TRUE(plan.submit.empty());
  EXPECT_TRUE(plan.cancel.empty());
  EXPECT_TRUE(plan.limits.empty());
  EXPECT_EQ(plan.reports,
            (std::vector<PlaceholderReport>{
                {{17, 1, "n1"}, 1300, PlaceholderState::kConfirmed, "", {1, 3}, {0}}}));
}

TEST_F(PlanTest, WhatIsHeldAndNotWantedIsReleased) {
  placeholder(1300, 17, "n1", {2});
  job(1301, "train", "n1", {0});
  const Plan plan = make({});
  EXPECT_EQ(plan.cancel, Ids{1300});
  EXPECT_TRUE(plan.reports.empty());
}

TEST_F(PlanTest, AnotherClustersPlaceholdersAreForeign) {
  job(1300, "dove-17.1@lab", "n1", {2}).mark = kMark;
  EXPECT_TRUE(make({}).cancel.empty());
  expect_refused(make({wanted(17, "n1", {2})}), "Slurm job 1300");
}

// The placeholder is its user's job in Slurm, who may give it another name.
TEST_F(PlanTest, ItIsKnownByItsMarkWhateverItIsCalled) {
  placeholder(1300, 17, "n1", {2}).mark = placeholder_mark("dove-17.1@dove");
  JobSeen& renamed = placeholder(1290, 17, "n1", {1});
  renamed.mark = placeholder_mark("dove-16.1@dove");
  const Plan taken = make({wanted(16, "n1", {1}), wanted(17, "n1", {2})});
  EXPECT_TRUE(taken.cancel.empty());
  EXPECT_TRUE(taken.submit.empty());
  seen_.jobs[1].name = "mine";
  EXPECT_EQ(make({wanted(17, "n1", {2})}).cancel, Ids{1290}) << "it goes with its job";
}

TEST_F(PlanTest, OneInWhichSomethingHasBegunIsStillItself) {
  placeholder(1300, 17, "n1", {2}).mark = begun_mark("dove-17.1@dove");
  placeholder(1301, 18, "n1", {1}).mark = placeholder_mark("dove-18.1@dove");
  EXPECT_EQ(begun_placeholders(seen_, "dove"), (std::set<PlaceholderKey>{{17, 1, "n1"}}));
  const Plan kept = make({wanted(17, "n1", {2}), wanted(18, "n1", {1})});
  EXPECT_TRUE(kept.cancel.empty());
  EXPECT_TRUE(kept.submit.empty());
}

TEST_F(PlanTest, OnesThatAreEndingAreListed) {
  placeholder(1300, 17, "n1", {2}).phase = JobPhase::kEnding;
  placeholder(1301, 18, "n1", {1});
  EXPECT_EQ(ending_placeholders(seen_, "dove"), (std::vector<PlaceholderKey>{{17, 1, "n1"}}));
}

TEST_F(PlanTest, OtherDevicesThanWantedAreReleasedAndRefused) {
  placeholder(1300, 17, "n1", {1});
  const Plan plan = make({wanted(17, "n1", {2})});
  EXPECT_EQ(plan.cancel, Ids{1300});
  expect_refused(plan, "devices 1 in place of 2");
}

TEST_F(PlanTest, TheOldestOfTwoStays) {
  placeholder(1302, 17, "n1", {2});
  placeholder(1300, 17, "n1", {2});
  const Plan plan = make({wanted(17, "n1", {2})});
  EXPECT_EQ(plan.cancel, Ids{1302});
  EXPECT_EQ(plan.reports[0].id, 1300);
}

TEST_F(PlanTest, AUsersJobByOurNameIsNoPlaceholderAndGoes) {
  job(1300, "dove-17.1@dove", "n1", {2});
  const Plan plan = make({wanted(17, "n1", {2})});
  EXPECT_EQ(plan.cancel, Ids{1300});
  EXPECT_TRUE(plan.submit.empty()) << "it is asked for once the other is gone";
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kAsked);
  EXPECT_EQ(make({}).cancel, Ids{1300});
}

TEST_F(PlanTest, NothingOfOursWaitsInSlurmsQueue) {
  JobSeen& waits = placeholder(1300, 17, "n1", {});
  waits.phase = JobPhase::kWaiting;
  waits.allocations.clear();
  EXPECT_EQ(make({wanted(17, "n1", {2})}).cancel, Ids{1300});
}

TEST_F(PlanTest, WhatSlurmHasYetToStartIsWaitedForAndThenRefused) {
  JobSeen& waits = placeholder(1300, 17, "n1", {});
  waits.phase = JobPhase::kWaiting;
  waits.allocations.clear();
  Wanted one = wanted(17, "n1", {0});
  one.runs = true;
  memory_.starting[one.key] = {1300, kNow_s - kStart_s + 1};
  Plan soon = make({one});
  EXPECT_TRUE(soon.submit.empty() && soon.cancel.empty() && soon.newly_refused.empty());
  ASSERT_EQ(soon.reports.size(), 1u);
  EXPECT_EQ(soon.reports[0].state, PlaceholderState::kAsked);
  EXPECT_EQ(make({}).cancel, std::vector<std::int64_t>{1300}) << "nobody wants it any more";
  memory_.starting[one.key].asked_s = kNow_s - kStart_s;
  const Plan late = make({one});
  EXPECT_EQ(late.cancel, std::vector<std::int64_t>{1300});
  expect_refused(late, "no room");
  seen_.jobs[0].phase = JobPhase::kEnded;
  EXPECT_EQ(make({one}).submit.size(), 1u) << "what never began is no end";
}

TEST_F(PlanTest, OneThatEndedIsReportedAndThenAskedForAgain) {
  JobSeen& over = placeholder(1300, 17, "n1", {});
  over.phase = JobPhase::kEnded;
  over.state = "TIMEOUT";
  const Plan first = make({wanted(17, "n1", {2})});
  EXPECT_TRUE(first.submit.empty());
  EXPECT_EQ(first.reports[0].state, PlaceholderState::kEnded);
  EXPECT_EQ(first.reports[0].why, "Slurm job 1300 is TIMEOUT");
  memory_.ended_told.insert(1300);
  EXPECT_EQ(make({wanted(17, "n1", {2})}).submit.size(), 1u);
}

// Its record is gone: the adapter was away for longer than Slurm keeps it.
TEST_F(PlanTest, OneThatSlurmHasForgottenIsReportedBeforeItIsAskedForAgain) {
  Wanted one = wanted(17, "n1", {2});
  one.held_by = 1300;
  job(1200, "train", "n1", {1});
  const Plan first = make({one});
  EXPECT_TRUE(first.submit.empty());
  ASSERT_EQ(first.reports.size(), 1u);
  EXPECT_EQ(first.reports[0].id, 1300);
  EXPECT_EQ(first.reports[0].state, PlaceholderState::kEnded);
  EXPECT_NE(first.reports[0].why.find("no job 1300"), std::string::npos);
  one.held_by = 0;  // the ledger has heard of it
  EXPECT_EQ(make({one}).submit.size(), 1u);
  one.held_by = 1300;
  placeholder(1301, 17, "n1", {2});
  EXPECT_EQ(make({one}).reports[0].state, PlaceholderState::kConfirmed) << "there is another one";
}

// Slurm was set up anew, and counts from 1 again.
TEST_F(PlanTest, OneWhoseNumberIsAnotherJobsNowIsForgottenToo) {
  Wanted one = wanted(17, "n1", {2});
  one.held_by = 1300;
  job(1300, "train", "n1", {1});
  const Plan plan = make({one});
  EXPECT_TRUE(plan.submit.empty());
  EXPECT_TRUE(plan.cancel.empty());
  ASSERT_EQ(plan.reports.size(), 1u);
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kEnded);
  seen_.jobs.clear();
  placeholder(1300, 18, "n1", {1});
  EXPECT_EQ(make({one}).reports[0].state, PlaceholderState::kEnded) << "it is of another job";
}

TEST_F(PlanTest, TheEndOnOneNodeIsNotTheEndOnAnother) {
  placeholder(1300, 17, "n1", {}).phase = JobPhase::kEnded;
  placeholder(1301, 17, "n2", {0});
  const Plan plan = make({wanted(17, "n1", {0}), wanted(17, "n2", {0})});
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kEnded);
  EXPECT_EQ(plan.reports[1].state, PlaceholderState::kConfirmed);
}

// Slurm would count the device as taken for good.
TEST_F(PlanTest, NothingStartsOrEndsOnANodeThatHasYetToRegister) {
  placeholder(1300, 17, "n1", {2});
  seen_.nodes[0].registered = false;
  const Plan before = make({wanted(18, "n1", {0})});
  EXPECT_TRUE(before.cancel.empty());
  EXPECT_TRUE(before.submit.empty());
  EXPECT_EQ(before.reports[0].state, PlaceholderState::kAsked);
  EXPECT_EQ(before.reports[0].why, "Slurm waits for the node to answer");
  seen_.nodes[0].state = NodeSeen::State::kDown;
  EXPECT_EQ(make({}).cancel, Ids{1300});  // nobody waits for a node that is down
  seen_.nodes[0].state = NodeSeen::State::kUp;
  seen_.nodes[0].registered = true;
  const Plan after = make({wanted(18, "n1", {0})});
  EXPECT_EQ(after.cancel, Ids{1300});
  EXPECT_EQ(after.submit.size(), 1u);
}

// salloc leaves the record of what it did not get; it bears no mark.
TEST_F(PlanTest, TheRecordOfARefusalIsNoEnd) {
  JobSeen& failed = job(1300, "dove-17.1@dove", "n1", {});
  failed.phase = JobPhase::kEnded;
  failed.allocations.clear();
  EXPECT_EQ(make({wanted(17, "n1", {2})}).submit.size(), 1u);
}

TEST_F(PlanTest, ARefusalStandsUntilTheLedgerHasHeardOfItAndWantsItStill) {
  memory_.refused[{17, 1, "n1"}] = {"no room", kNow_s - 60, false};
  const Plan plan = make({wanted(17, "n1", {2})});
  EXPECT_TRUE(plan.submit.empty());
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kRefused);
  EXPECT_EQ(plan.reports[0].why, "no room");
  memory_.refused[{17, 1, "n1"}] = {"no room", kNow_s - 1, true};
  EXPECT_TRUE(make({wanted(17, "n1", {2})}).submit.empty());
  memory_.refused[{17, 1, "n1"}] = {"no room", kNow_s - kAskAgain_s, true};
  EXPECT_EQ(make({wanted(17, "n1", {2})}).submit.size(), 1u);
}

TEST_F(PlanTest, ADeviceThatAForeignJobHoldsIsRefusedWithItsOwner) {
  job(1234, "train", "n1", {0, 2});
  expect_refused(make({wanted(17, "n1", {2})}), "Slurm job 1234 of ada runs on it");
  EXPECT_EQ(make({wanted(17, "n1", {1})}).submit.size(), 1u);
  EXPECT_EQ(make({wanted(17, "n2", {2})}).submit.size(), 1u);
}

TEST_F(PlanTest, ADeviceOfAJobThatIsEndingIsNotFreeYet) {
  job(1234, "train", "n1", {2}).phase = JobPhase::kEnding;
  expect_refused(make({wanted(17, "n1", {2})}), "still ending");
}

// What made room for it leaves a moment later. A job of Slurm's users that ends is another matter:
// the ledger hears of it, and finds another place.
TEST_F(PlanTest, APlaceholderThatIsEndingOnItsDeviceIsWaitedFor) {
  placeholder(1300, 16, "n1", {1, 2}).phase = JobPhase::kEnding;
  const Plan waits = make({wanted(17, "n1", {2})});
  EXPECT_TRUE(waits.submit.empty());
  EXPECT_TRUE(waits.newly_refused.empty());
  EXPECT_EQ(waits.reports.at(0).state, PlaceholderState::kAsked);
  EXPECT_EQ(waits.reports[0].why, "Slurm job 1300, of ours, is still ending there");
  EXPECT_EQ(make({wanted(17, "n1", {3})}).submit.size(), 1u);
  EXPECT_EQ(make({wanted(17, "n2", {2})}).submit.size(), 1u);
  memory_.awaited[{17, 1, "n1"}] = {1300};
  EXPECT_TRUE(make({wanted(17, "n1", {3})}).submit.empty()) << "it lacked something else of it";
  seen_.jobs[0].phase = JobPhase::kEnded;
  EXPECT_EQ(make({wanted(17, "n1", {2})}).submit.size(), 1u);
  forget_unwanted(seen_, {}, memory_);
  EXPECT_TRUE(memory_.awaited.empty());
}

TEST_F(PlanTest, OnANodeThatIsNotUpNoPlaceholdersEndIsWaitedFor) {
  placeholder(1300, 16, "n1", {2}).phase = JobPhase::kEnding;
  for (const auto state : {NodeSeen::State::kDown, NodeSeen::State::kDrained}) {
    seen_.nodes[0].state = state;
    expect_refused(make({wanted(17, "n1", {2})}), "in Slurm");
  }
  seen_.nodes[0].settles = true;
  EXPECT_EQ(make({wanted(17, "n1", {2})}).reports.at(0).state, PlaceholderState::kAsked);
}

TEST_F(PlanTest, NodesThatAreDownDrainedOrUnknown) {
  seen_.nodes[0].state = NodeSeen::State::kDown;
  seen_.nodes[0].reason = "no answer";
  expect_refused(make({wanted(17, "n1", {2})}), "node n1 is down in Slurm: no answer");
  seen_.nodes[0].state = NodeSeen::State::kDrained;
  expect_refused(make({wanted(17, "n1", {2})}), "drained");
  expect_refused(make({wanted(17, "n9", {2})}), "no node n9");
}

TEST_F(PlanTest, ANodeThatSlurmHasNotHeardOfYetIsWaitedFor) {
  seen_.nodes[0].state = NodeSeen::State::kDown;
  seen_.nodes[0].settles = true;
  const Plan plan = make({wanted(17, "n1", {2})});
  EXPECT_TRUE(plan.submit.empty());
  EXPECT_TRUE(plan.newly_refused.empty());
  EXPECT_EQ(plan.reports[0].state, PlaceholderState::kAsked);
}

TEST_F(PlanTest, APlaceholderOnANodeThatWentDownStaysConfirmedUntilSlurmEndsIt) {
  placeholder(1300, 17, "n1", {2});
  seen_.nodes[0].state = NodeSeen::State::kDown;
  EXPECT_EQ(make({wanted(17, "n1", {2})}).reports[0].state, PlaceholderState::kConfirmed);
}

TEST_F(PlanTest, DevicesThatSlurmCannotTellApart) {
  seen_.nodes[0].device_types = {"h", "h"};
  expect_refused(make({wanted(17, "n1", {1})}), "gres.conf");
}

TEST_F(PlanTest, ItsEndFollowsThatOfItsJob) {
  JobSeen& held = placeholder(1300, 17, "n1", {2});
  held.ends_s = kNow_s + 62 * 60;
  Wanted one = wanted(17, "n1", {2});
  one.until_s = kNow_s + 3600;
  EXPECT_TRUE(make({one}).limits.empty());
  one.until_s = kNow_s + 7200;
  ASSERT_EQ(make({one}).limits.size(), 1u);
  EXPECT_EQ(make({one}).limits[0].limit_minutes, 122);
  one.until_s = 0;
  EXPECT_EQ(make({one}).limits[0].limit_minutes, 0);
}

// Its job is past its end, and nothing proves that it is over.
TEST_F(PlanTest, APlaceholderOfOverdueWorkDoesNotEnd) {
  JobSeen& held = placeholder(1300, 17, "n1", {2});
  held.started_s = kNow_s - 3600;
  held.ends_s = kNow_s + 120;
  Wanted one = wanted(17, "n1", {2});
  one.until_s = kNow_s;
  EXPECT_TRUE(make({one}).limits.empty()) << "it is not overdue";
  one.until_s = kNow_s - 100;
  held.ends_s = kNow_s + 20;
  ASSERT_EQ(make({one}).limits.size(), 1u);
  EXPECT_EQ(make({one}).limits[0].limit_minutes, 65);
  held.ends_s = held.started_s + 65 * 60;
  EXPECT_TRUE(make({one}).limits.empty());
}

// A job without a limit that is being stopped has an end in the ledger, and may never reach it.
TEST_F(PlanTest, APlaceholderWithoutAnEndGetsNone) {
  placeholder(1300, 17, "n1", {2}).ends_s = 0;
  Wanted one = wanted(17, "n1", {2});
  one.until_s = kNow_s + 60;
  EXPECT_TRUE(make({one}).limits.empty());
}

TEST_F(PlanTest, WhileNobodySaysWhatIsWantedPlaceholdersDoNotEnd) {
  placeholder(1300, 17, "n1", {2}).ends_s = kNow_s + 60;
  placeholder(1301, 18, "n1", {3}).ends_s = kNow_s + 3600;
  placeholder(1302, 19, "n1", {1}).ends_s = 0;
  const std::vector<LimitChange> longer = longer_stays(seen_, "dove", kNow_s);
  ASSERT_EQ(longer.size(), 1u);
  EXPECT_EQ(longer[0].id, 1300);
}

// What a standing fence holds no placeholder asks for; what is kept waits for its fence.
TEST_F(PlanTest, OfKeptDevicesThePlaceholderHoldsNone) {
  kept_["n1"] = {2, 3};
  const Plan first = make({wanted(17, "n1", {1, 2})});
  EXPECT_TRUE(first.submit.empty());
  EXPECT_EQ(first.reports[0].state, PlaceholderState::kAsked);
  job(1200, "dove-keep-n1.2@dove", "n1", {2}).mark = placeholder_mark("dove-keep-n1.2@dove");
  const Plan next = make({wanted(17, "n1", {1, 2})});
  ASSERT_EQ(next.submit.size(), 1u);
  EXPECT_EQ(next.submit[0].ask.gres, "gpu:h_1:1");
  placeholder(1300, 17, "n1", {1});
  EXPECT_EQ(make({wanted(17, "n1", {1, 2})}).reports[0].state, PlaceholderState::kConfirmed);
  EXPECT_EQ(make({wanted(17, "n1", {1, 2})}).reports[0].devices, (std::vector<int>{1, 2}));
  seen_.jobs[0].phase = JobPhase::kEnded;  // an administrator has cancelled the fence
  EXPECT_EQ(make({wanted(17, "n1", {1, 2})}).reports[0].state, PlaceholderState::kAsked);
  EXPECT_TRUE(make({wanted(17, "n1", {1, 2})}).cancel.empty());
  kept_.clear();
  EXPECT_TRUE(make({wanted(17, "n1", {1, 2})}).cancel.empty()) << "work may run on both";
  EXPECT_EQ(make({wanted(17, "n1", {1, 2})}).reports[0].state, PlaceholderState::kAsked);
  job(1400, "train", "n1", {2});
  EXPECT_EQ(make({wanted(17, "n1", {1, 2})}).reports[0].state, PlaceholderState::kRefused);
  EXPECT_TRUE(make({wanted(17, "n1", {1, 2})}).cancel.empty());
}

TEST_F(PlanTest, FencesOfANodeWherePlaceholdersAreShortLendTheirCores) {
  job(1200, "dove-keep-n1.2@dove", "n1", {2}).mark = placeholder_mark("dove-keep-n1.2@dove");
  placeholder(1300, 17, "n1", {}).allocations[0].cores = {6};
  Wanted one = wanted(17, "n1", {});
  one.cores = {6};
  EXPECT_TRUE(fences_that_lend_cores(seen_, {one}, "dove").empty());
  one.cores = {5, 6};
  EXPECT_EQ(fences_that_lend_cores(seen_, {one}, "dove"), std::set<std::int64_t>{1200});
  one.runs = true;
  EXPECT_TRUE(fences_that_lend_cores(seen_, {one}, "dove").empty()) << "it has all from Slurm";
}

// Slurm gives it its devices: a fence that has yet to go is waited for.
TEST_F(PlanTest, AJobThatSlurmRunsGetsNothingFromAStandingFence) {
  job(1200, "dove-keep-n1.2@dove", "n1", {2}).mark = placeholder_mark("dove-keep-n1.2@dove");
  Wanted one = wanted(17, "n1", {2});
  one.runs = true;
  EXPECT_TRUE(make({one}).submit.empty());
  EXPECT_EQ(make({one}).reports[0].state, PlaceholderState::kAsked);
  seen_.jobs.clear();
  EXPECT_EQ(make({one}).submit.at(0).ask.gres, "gpu:h_2:1");
  placeholder(1300, 17, "n1", {});
  EXPECT_EQ(make({one}).cancel, Ids{1300});
}

}  // namespace
}  // namespace dove::slurm
