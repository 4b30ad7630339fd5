#include "slurm/gate/gate_keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "slurm/fake_slurm_for_test.h"

namespace dove::slurm {
namespace {

class FakeControl : public GateControl {
 public:
  Result<void> place(const std::string&, const GatePlacing& placing) override {
    comment = placing.comment;
    return done(placed);
  }
  Result<void> let_go(const std::string&) override { return {}; }
  Result<void> put_back(const std::string&, const GatePutBack&) override { return done(ended); }
  Result<void> say(const std::string&, const std::string& text) override {
    said = text;
    return {};
  }
  Result<void> mark(const std::string& handle, const std::string& text) override {
    marked.push_back(handle);
    last_mark = text;
    return done(marks);
  }
  Result<void> done(int& count) {
    ++count;
    if (fails) return Error{ErrorKind::kUnavailable, "slurm_command", "no", ""};
    return {};
  }

  int placed = 0, ended = 0, marks = 0;
  std::vector<std::string> marked;
  std::string last_mark, said;
  std::optional<std::string> comment;
  bool fails = false;
};

// Slurm job 5 waits at the gate.
class GateKeeperTest : public testing::Test {
 protected:
  GateKeeperTest() {
    JobSeen job;
    job.id = 5;
    job.user = "ada";
    job.mark = "dovetail-gate";
    job.gate.emplace();
    job.gate->is_held = job.gate->may_requeue = true;
    job.gate->memory_per_node = 1;
    job.gate->handle = "5";
    seen.nodes = slurm.state.nodes;
    seen.jobs.push_back(job);
  }
  JobSeen& job() { return seen.jobs[0]; }
  GatePlan placing() const {
    GatePlan plan;
    plan.place.push_back({5, "dovetail-gate run=1.1 restarts=0", "n1"});
    return plan;
  }
  GatePlan fences(int nodes) const {
    GatePlan plan;
    for (int i = 0; i < nodes; ++i) {
      plan.fences.emplace_back().name = "dove-fence-1.1@dove";
      plan.fences.back().node = "n" + std::to_string(i);
    }
    return plan;
  }

  FakeSlurm slurm;
  FakeControl control;
  Observed seen;
  GateRequest told;
  GateJob::State says = GateJob::State::kWaiting;
  std::string why;
  Result<std::vector<GateJob>> heard(const GateRequest& request) {
    told = request;
    std::vector<GateJob> answer;
    for (const GatePresent& one : request.present) answer.push_back({one.id, 17, says, why});
    return answer;
  }
  GateKeeper::Tell tell = [this](const GateRequest& request, const std::vector<NodeSeen>&) {
    return heard(request);
  };
  GateKeeper keeper{slurm, control, tell, nullptr, "dove", "a1"};
};

TEST_F(GateKeeperTest, WhatItsUserHoldsIsNotLetGoAndTheLedgerHearsItAgain) {
  job().mark = "dovetail-gate user_hold";
  keeper.tell(seen, 1000);
  keeper.tell(seen, 1001);
  EXPECT_EQ(told.present.at(0).word, UserWord::kHold);
  EXPECT_FALSE(keeper.carry_out(placing(), seen, 1001));
  EXPECT_EQ(control.placed, 0);
  job().mark = "dovetail-gate";
  keeper.tell(seen, 1002);
  EXPECT_TRUE(keeper.carry_out(placing(), seen, 1002));
  EXPECT_EQ(control.placed, 1);
}

TEST_F(GateKeeperTest, AHoldThatTheLedgerHasNotHeardCounts) {
  job().mark = "dovetail-gate user_hold";
  EXPECT_FALSE(keeper.carry_out(placing(), seen, 1000)) << "nothing was told yet";
  EXPECT_EQ(control.placed, 0);
}

TEST_F(GateKeeperTest, AUsersCommentComesBackWhole) {
  const std::string theirs(700, 'x');
  job().gate->comment = theirs;
  why = "no room";
  keeper.tell(seen, 1000);
  EXPECT_EQ(control.said, theirs + " | dovetail: no room");
  job().gate->comment = control.said;
  EXPECT_TRUE(keeper.carry_out(placing(), seen, 1001));
  EXPECT_EQ(control.comment, theirs);
}

TEST_F(GateKeeperTest, WhatFailedHasChangedNothing) {
  control.fails = true;
  EXPECT_FALSE(keeper.carry_out(placing(), seen, 1000));
  EXPECT_EQ(control.placed, 1);
}

TEST_F(GateKeeperTest, AnEndThatFailedIsAskedForAgainSoonAndOneThatSucceededLate) {
  job().phase = JobPhase::kHolding;
  GatePlan plan;
  plan.put_back.push_back({.slurm_job = 5, .may_requeue = true});
  const auto asked_s = [&](std::int64_t from_s, std::int64_t to_s) {
    std::vector<std::int64_t> times;
    for (std::int64_t now_s = from_s; now_s < to_s; ++now_s) {
      const int before = control.ended;
      keeper.carry_out(plan, seen, now_s);
      if (control.ended > before) times.push_back(now_s);
    }
    return times;
  };
  using Times = std::vector<std::int64_t>;
  control.fails = true;
  EXPECT_EQ(asked_s(1000, 1010), (Times{1000, 1001, 1003, 1007}));
  control.fails = false;
  EXPECT_EQ(asked_s(1010, 1080), (Times{1015, 1075}));
  job().gate->restarts = 1;
  EXPECT_EQ(asked_s(1080, 1090), Times{1080}) << "another run of it";
  plan.put_back.clear();
  plan.cancel = {5};
  EXPECT_EQ(asked_s(1130, 1150), Times{1140});
}

TEST_F(GateKeeperTest, OneThatMakesRoomHasItsUsersSignalAndTheTimeAfterIt) {
  job().phase = JobPhase::kHolding;
  GatePlan plan;
  plan.put_back.push_back({.slurm_job = 5, .may_requeue = true, .is_warned = true});
  slurm.warning_refusal = Error{ErrorKind::kTimeout, "too_slow", "no answer", ""};
  keeper.carry_out(plan, seen, 999);
  EXPECT_EQ(control.ended, 0) << "it may not have had it";
  slurm.warning_refusal = {};
  slurm.wants_signal_s = 30;
  for (std::int64_t now_s = 1000; now_s < 1030; ++now_s) keeper.carry_out(plan, seen, now_s);
  EXPECT_EQ(slurm.warned, std::vector<std::string>{"5"});
  EXPECT_EQ(control.ended, 0);
  GatePlan cancels;
  cancels.cancel = {5};
  keeper.carry_out(cancels, seen, 1029);
  EXPECT_EQ(control.ended, 1) << "its user wants no more of it";
  job().gate->restarts = 1;
  keeper.carry_out(plan, seen, 2000);
  keeper.carry_out(plan, seen, 2029);
  EXPECT_EQ(slurm.warned.size(), 2u) << "another run of it";
  EXPECT_EQ(control.ended, 1);
  keeper.carry_out(plan, seen, 2030);
  EXPECT_EQ(control.ended, 2);
}

TEST_F(GateKeeperTest, OneWithoutASignalMakesRoomAtOnceAndOneWithALongOneAsTheAdaptersSettingSays) {
  job().phase = JobPhase::kHolding;
  GatePlan plan;
  plan.put_back.push_back({.slurm_job = 5, .may_requeue = true, .is_warned = true});
  keeper.carry_out(plan, seen, 1000);
  EXPECT_EQ(control.ended, 1);
  slurm.wants_signal_s = 3600;
  GateKeeper brief(slurm, control, tell, nullptr, "dove", "a1", nullptr, nullptr, 60);
  brief.carry_out(plan, seen, 2000);
  brief.carry_out(plan, seen, 2059);
  EXPECT_EQ(control.ended, 1);
  brief.carry_out(plan, seen, 2060);
  EXPECT_EQ(control.ended, 2);
  slurm.warned.clear();
  GateKeeper silent(slurm, control, tell, nullptr, "dove", "a1", nullptr, nullptr, 0);
  silent.carry_out(plan, seen, 3000);
  EXPECT_EQ(control.ended, 3);
  EXPECT_TRUE(slurm.warned.empty());
}

TEST_F(GateKeeperTest, TheAccountingIsAskedForTheEndOfAForgottenJobOnce) {
  int asked = 0;
  PastEnds ends([&](const CommandWanted&) {
    ++asked;
    return Result<CommandEnd>(CommandEnd{0, "5|COMPLETED|0:0\n", ""});
  });
  GateKeeper asking(slurm, control, tell, nullptr, "dove", "a1", nullptr, &ends);
  Wanted one;
  one.key = {17, 1, "n1"};
  one.foreign_job = "5";
  WantedWork work;
  work.key = one.key;
  work.foreign_job = "5";
  work.ranks = {0};
  seen.jobs.clear();
  for (int i = 0; i < 2; ++i) {
    const GatePlan plan = asking.plan(seen, {one}, {work}, 1000);
    EXPECT_EQ(plan.works.at(0).exits, (std::vector<TaskEnd>{{0, 0, 0, ""}}));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(
      keeper.plan(seen, {one}, {work}, 1000).works.at(0).exits.at(0).cause.find("end_unknown"), 0u);
}

TEST_F(GateKeeperTest, AFewFencesAtATimeAndNoneWhereThereWasTrouble) {
  EXPECT_TRUE(keeper.carry_out(fences(6), seen, 1000));
  EXPECT_EQ(slurm.asked, 4);
  slurm.refusal = Error{ErrorKind::kConflict, "no_room", "no core is free", ""};
  EXPECT_FALSE(keeper.carry_out(fences(1), seen, 1000));
  EXPECT_EQ(slurm.asked, 5);
  slurm.refusal = Error{};
  EXPECT_FALSE(keeper.carry_out(fences(1), seen, 1002));
  EXPECT_EQ(slurm.asked, 5) << "it had none lately";
  EXPECT_TRUE(keeper.carry_out(fences(2), seen, 1003));
  EXPECT_EQ(slurm.asked, 7);
}

TEST_F(GateKeeperTest, AFenceIsMarkedByTheGateUnlessItsLuaIsOfAFormerVersion) {
  slurm.lua_marks = false;
  EXPECT_TRUE(keeper.carry_out(fences(1), seen, 1000));
  seen.jobs.push_back(slurm.state.jobs.back());
  EXPECT_EQ(seen.jobs.back().mark, "");
  keeper.tell(seen, 1001);
  EXPECT_EQ(keeper.plan(seen, {}, {}, 1001).release, std::vector<std::int64_t>{slurm.last_id});
  EXPECT_TRUE(keeper.carry_out(fences(1), seen, 1001));
  EXPECT_EQ(slurm.state.jobs.back().mark, "dovetail dove-fence-1.1@dove") << "written by ask()";
}

TEST_F(GateKeeperTest, ThatItWasLetGoWakesTheScheduler) {
  std::string config = "Epilog                  = /bin/true\n";
  SchedulerWake wake(slurm, "dove", [&](const CommandWanted&) {
    return Result<CommandEnd>(CommandEnd{0, config, ""});
  });
  GateKeeper waking(
      slurm, control,
      [](const GateRequest&, const std::vector<NodeSeen>&) {
        return Result<std::vector<GateJob>>(std::vector<GateJob>());
      },
      nullptr, "dove", "a1", &wake);
  GatePlan plan = placing();
  plan.place[0].first_node = "n1";
  EXPECT_FALSE(waking.carry_out(GatePlan{}, seen, 1000));
  EXPECT_EQ(slurm.asked, 0) << "nothing was let go";
  EXPECT_TRUE(waking.carry_out(plan, seen, 1000));
  EXPECT_EQ(slurm.asked, 1);
  EXPECT_TRUE(slurm.state.jobs.empty()) << "it is given back at once";
  config = "Epilog = (null)\n";
  EXPECT_TRUE(waking.carry_out(plan, seen, 1001));
  EXPECT_EQ(slurm.asked, 2) << "the configuration is not read each time";
  EXPECT_TRUE(waking.carry_out(plan, seen, 2000));
  EXPECT_EQ(slurm.asked, 2);
}

TEST_F(GateKeeperTest, ATaskThatCannotBeTakenOutIsTriedAgainLater) {
  job().gate->array_job = 5;
  job().gate->array_tasks = "1-3";
  control.fails = true;
  for (const std::int64_t now_s : {1000, 1001, 1029}) keeper.tell(seen, now_s);
  EXPECT_EQ(control.marked, std::vector<std::string>{"5_1"});
  keeper.tell(seen, 1030);
  EXPECT_EQ(control.marked.size(), 2u);
}

TEST_F(GateKeeperTest, AClockThatIsSetBackMakesNoPauseLonger) {
  job().gate->array_job = 5;
  job().gate->array_tasks = "1-3";
  control.fails = true;
  for (const std::int64_t now_s : {5000, 5020, 1400}) keeper.tell(seen, now_s);
  EXPECT_EQ(control.marked.size(), 1u);
  keeper.tell(seen, 1410);
  EXPECT_EQ(control.marked.size(), 2u);
}

TEST_F(GateKeeperTest, AStartThatIsNotMadeIsGivenUpAlsoWhenTheClockIsSetBack) {
  Wanted one;
  one.key = {17, 1, "n1"};
  one.foreign_job = "5";
  const auto is_given_up = [&](std::int64_t now_s) {
    return !keeper.plan(seen, {one}, {}, now_s).newly_refused.empty();
  };
  EXPECT_FALSE(is_given_up(5000));
  EXPECT_FALSE(is_given_up(1400));
  EXPECT_FALSE(is_given_up(1419));
  EXPECT_TRUE(is_given_up(1420));
}

TEST_F(GateKeeperTest, SeveralTasksAreTakenOutAtOnceAsManyAsMayRun) {
  using Handles = std::vector<std::string>;
  job().gate->array_job = 5;
  const auto taken = [&](const char* tasks) {
    job().gate->array_tasks = tasks;
    control.marked.clear();
    keeper.tell(seen, 1000);
    return control.marked;
  };
  EXPECT_EQ(taken("0-8:4,11"), (Handles{"5_0", "5_4", "5_8"}));
  EXPECT_TRUE(keeper.is_starting()) << "the others are due soon";
  EXPECT_EQ(taken("7,9"), Handles{"5_7"});
  EXPECT_EQ(taken("1-4000%2"), (Handles{"5_1", "5_2"}));
  EXPECT_EQ(taken("1-4000").size(), 16u);
  EXPECT_EQ(taken("x"), Handles{});
  EXPECT_FALSE(keeper.is_starting());
}

TEST_F(GateKeeperTest, TasksOfAnArrayThatItsUserHasLetGoAreNotHeld) {
  std::string folder = testing::TempDir() + "/dove-gate-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  auto files = GateFolder::open(folder, [] { return Result<uid_t>(::geteuid()); });
  ASSERT_TRUE(files.ok());
  GateKeeper with_words(
      slurm, control,
      [](const GateRequest&, const std::vector<NodeSeen>&) {
        return Result<std::vector<GateJob>>(std::vector<GateJob>());
      },
      &*files, "dove", "a1");
  job().gate->array_job = 5;
  job().gate->array_tasks = "1";
  job().mark = "dovetail-gate user_hold model=h200";
  with_words.tell(seen, 1000);
  EXPECT_TRUE(control.marked.empty()) << "its user holds it";
  std::ofstream(folder + "/release.5") << "";
  with_words.tell(seen, 1001);
  EXPECT_EQ(control.last_mark, "dovetail-gate model=h200");
  std::filesystem::remove_all(folder);
}

TEST_F(GateKeeperTest, OneThatDependsOnAnotherSinceItWasToldWaitsInSlurm) {
  keeper.tell(seen, 1000);
  EXPECT_EQ(told.present.size(), 1u);
  job().gate->depends = true;
  job().gate->is_held = false;
  keeper.tell(seen, 1001);
  EXPECT_EQ(told.present.size(), 1u) << "it was let go before";
  job().gate->is_held = true;
  keeper.tell(seen, 1002);
  EXPECT_TRUE(told.present.empty());
}

TEST_F(GateKeeperTest, AJobOfAnotherReservationIsHandedInAgain) {
  job().gate->reservation = "course";
  keeper.tell(seen, 1000);
  keeper.tell(seen, 1001);
  EXPECT_EQ(told.present.at(0).job, 17u);
  EXPECT_TRUE(told.jobs.empty());
  job().gate->reservation = "later";
  keeper.tell(seen, 1002);
  EXPECT_TRUE(told.present.empty()) << "the ledger's job ends";
  keeper.tell(seen, 1003);
  EXPECT_EQ(told.jobs.size(), 1u);
  job().gate->cannot = "there is none of that name";
  keeper.tell(seen, 1004);
  EXPECT_TRUE(told.present.empty());
  keeper.tell(seen, 1005);
  EXPECT_TRUE(told.jobs.empty()) << "it waits until there is one again";
}

TEST_F(GateKeeperTest, AJobOfAReservationIsHandedInWhenThatBegins) {
  job().gate->reservation = "course";
  job().gate->begins_s = 1500;  // as the adapter sets it
  keeper.tell(seen, 1000);
  EXPECT_TRUE(told.jobs.empty());
  keeper.tell(seen, 1500);
  EXPECT_EQ(told.jobs.size(), 1u);
}

TEST_F(GateKeeperTest, AJobThatWasCancelledWhileNobodyListenedIsEnded) {
  says = GateJob::State::kEnded;
  keeper.tell(seen, 1000);
  EXPECT_EQ(control.ended, 1) << "this process has never told of it before";
  job().phase = JobPhase::kHolding;
  keeper.tell(seen, 2001);
  EXPECT_EQ(control.ended, 1);
}

}  // namespace
}  // namespace dove::slurm
