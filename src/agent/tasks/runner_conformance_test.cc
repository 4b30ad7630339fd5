// What every runner of real tasks does, whatever it runs them in.
#include <gmock/gmock.h>

#include "agent/tasks/runner_test_bed.h"

namespace dove::agent {
namespace {

std::string name_of(const testing::TestParamInfo<RunnerKind>& one) {
  switch (one.param) {
    case RunnerKind::kProcess:
      return "Process";
    case RunnerKind::kContainer:
      return "Container";
    case RunnerKind::kNull:
      return "Null";
  }
  return "";
}

// What holds for tasks that only pretend, too.
class EveryRunner : public RunnerTestBed, public ::testing::WithParamInterface<RunnerKind> {
 protected:
  EveryRunner() : RunnerTestBed(GetParam()) {}

  TaskPlan ends_with(int code) {
    TaskPlan made = plan("exit " + std::to_string(code));
    made.environment["DOVE_NULL_EXIT_CODE"] = std::to_string(code);
    return made;
  }
  TaskPlan runs_long() {
    TaskPlan made = plan("echo x > up; exec sleep 100");
    made.environment["DOVE_NULL_RUN_MS"] = "100000";
    return made;
  }
  bool runs() {
    return until([&] { return started_ > 0 && (null_ || read("up") == "x\n"); });
  }
  // Lets pass whatever else there is to tell.
  void wait_a_while() {
    bool over = false;
    const wire::Timer timer = loop_.after(std::chrono::milliseconds(100), [&] { over = true; });
    ASSERT_TRUE(until([&] { return over; }));
  }
};

TEST_P(EveryRunner, TellsStartAndEndOnceWithRankAndCode) {
  start(ends_with(3));
  ASSERT_TRUE(ended());
  wait_a_while();
  EXPECT_EQ(started_, 1);
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].exit.exit_code, 3);
  EXPECT_EQ(ended_[0].exit.rank, 3u);
  EXPECT_EQ(ended_[0].exit.cause, "");
}

TEST_P(EveryRunner, AStopEndsATaskOnceHoweverOftenItIsSaid) {
  start(runs_long());
  ASSERT_TRUE(runs());
  task_->stop();
  task_->stop();
  ASSERT_TRUE(ended());
  wait_a_while();
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].exit.signal, SIGTERM);
  EXPECT_EQ(ended_[0].exit.rank, 3u);
}

TEST_P(EveryRunner, OnlySignalsThatEndATaskEndIt) {
  start(runs_long());
  ASSERT_TRUE(runs());
  for (const int number : {SIGCONT, SIGWINCH, SIGURG, SIGCHLD}) task_->signal(number);
  wait_a_while();
  EXPECT_TRUE(ended_.empty());
  task_->signal(SIGUSR1);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGUSR1);
}

TEST_P(EveryRunner, ATaskOfWhichNothingIsKnownIsOver) {
  adopt(ends_with(0));
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  EXPECT_EQ(ended_[0].exit.rank, 3u);
}

TEST_P(EveryRunner, ATaskThatIsNotWatchedAnyMoreTellsNothing) {
  const TaskPlan same = runs_long();
  start(same);
  ASSERT_TRUE(runs());
  task_.reset();
  wait_a_while();
  EXPECT_TRUE(ended_.empty());
  adopt(same);  // to end it
  task_->stop();
  ASSERT_TRUE(ended());
}

class RunnerConformance : public RunnerTestBed, public ::testing::WithParamInterface<RunnerKind> {
 protected:
  RunnerConformance() : RunnerTestBed(GetParam()) {}
};

TEST_P(RunnerConformance, TellsTheStartAndTheEndOnce) {
  start(plan("echo hello; exit 3"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 1);
  EXPECT_EQ(ended_[0].exit.exit_code, 3);
  EXPECT_EQ(ended_[0].exit.rank, 3u);
  EXPECT_EQ(ended_[0].exit.cause, "");
  EXPECT_EQ(read("out"), "hello\n");
  EXPECT_GT(ended_[0].memory_peak_bytes, 0);
  // Another task, whose end would come after a second word about the first.
  start(plan("exit 4", "other"));
  ASSERT_TRUE(until([&] { return ended_.size() == 2; }));
  EXPECT_EQ(ended_[1].exit.exit_code, 4);
}

TEST_P(RunnerConformance, ATaskThatCannotStartSaysWhy) {
  TaskPlan broken = plan("");
  broken.argv = {"/no/such/program"};
  start(broken);
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(ended_[0].exit.exit_code, 127);
  EXPECT_EQ(ended_[0].exit.cause,
            "start_failed: cannot execute /no/such/program: No such file or directory");
}

TEST_P(RunnerConformance, AnUnknownUserIsAnError) {
  TaskPlan of_nobody = plan("true");
  of_nobody.linux_user = "no-such-user-here";
  EXPECT_FALSE(runner().start(of_nobody, calls()).ok());
}

TEST_P(RunnerConformance, TellsTheSignalThatEndedATask) {
  start(plan("kill -USR1 $$; sleep 9"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGUSR1);
}

TEST_P(RunnerConformance, StopsATask) {
  start(plan("trap 'exit 7' TERM; echo x > up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  EXPECT_EQ(started_, 1);
  task_->stop();
  task_->stop();
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 7);
}

TEST_P(RunnerConformance, EndsATaskThatDoesNotListen) {
  start(plan("trap '' TERM; echo x > up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  task_->stop();
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGKILL);
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, PassesSignalsOn) {
  start(plan("trap 'echo got > got; exit 8' USR2; echo x > up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  task_->signal(SIGUSR2);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 8);
  EXPECT_EQ(read("got"), "got\n");
}

TEST_P(RunnerConformance, WhatATaskLeavesBehindIsEnded) {
  start(plan("setsid sleep 300 & echo x > up; exit 0"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 0);
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, WhatAKilledShimLeftIsSweptBeforeTheEndIsTold) {
  start(plan("setsid sh -c 'echo x > child; exec sleep 100' & wait"));
  ASSERT_TRUE(until([&] { return read("child") == "x\n" && started_ > 0; }));
  EXPECT_GT(marked(), 0);
  ::kill(shim_pid(), SIGKILL);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  EXPECT_EQ(ended_[0].exit.signal, 9);
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, AnAdoptedTaskTellsItsEnd) {
  const TaskPlan same = plan("echo x > up; while ! [ -e go ]; do sleep 0.01; done; exit 5");
  start(same);
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  started_ = 0;
  adopt(same);
  EXPECT_TRUE(ended_.empty());
  std::ofstream(dir("go")) << "x";
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 5);
  EXPECT_EQ(started_, 0) << "that was told by the former agent";
}

TEST_P(RunnerConformance, AnAdoptedTaskCanBeStopped) {
  const TaskPlan same = plan("echo x > up; exec sleep 100");
  start(same);
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  adopt(same);
  task_->stop();
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGTERM);
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, ATaskThatEndedWithoutAnAgentIsTold) {
  const TaskPlan same = plan("exit 6");
  start(same);
  task_.reset();
  ASSERT_TRUE(wait_until([&] {
    const auto status = read_shim_status(dir("task"));
    return status.ok() && status->has_value();
  }));
  adopt(same);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 6);
}

TEST_P(RunnerConformance, ATaskWhoseShimDiedWithoutAnAgentIsSwept) {
  const TaskPlan same = plan("setsid sh -c 'echo x > child; exec sleep 100' & wait");
  start(same);
  ASSERT_TRUE(until([&] { return read("child") == "x\n" && started_ > 0; }));
  const pid_t shim = shim_pid();
  task_.reset();
  containers_.reset();
  runner_.reset();
  ::kill(shim, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !alive(shim); }));
  adopt(same);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, ATaskThatNeverWasIsOver) {
  adopt(plan("true"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
}

TEST_P(RunnerConformance, ATaskEndsWithItsLease) {
  lease_->renew(boottime_us() + 2'000'000);
  start(plan("echo x > up; exec sleep 100"));
  ASSERT_TRUE(until([&] {
    lease_->renew(boottime_us() + 2'000'000);
    return started_ > 0;
  }));
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 1);
  EXPECT_EQ(ended_[0].exit.cause, "fenced");
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, ATaskOverItsMemorySaysPeakAndLimit) {
  make_runner(/*limited=*/true);
  if (!limits("memory")) GTEST_SKIP() << runner_->not_enforced();
  TaskPlan hungry = plan("ulimit -v 2000000; exec tail -n 1 /dev/zero");
  hungry.attempt = "7.1";
  hungry.memory_bytes = 32 << 20;
  start(hungry);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGKILL);
  // Version 2 lets a process that is being killed have some pages over the limit.
  EXPECT_THAT(ended_[0].exit.cause,
              testing::MatchesRegex("out_of_memory: peak 3[2-9] MiB, limit 32 MiB"));
}

TEST_P(RunnerConformance, ATaskCannotForkWithoutEnd) {
  make_runner(/*limited=*/true);
  if (!limits("processes")) GTEST_SKIP() << runner_->not_enforced();
  start(plan("i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; exit 0"));
  ASSERT_TRUE(ended());
  EXPECT_NE(read("out").find("fork"), std::string::npos) << read("out");
  EXPECT_EQ(marked(), 0);
}

TEST_P(RunnerConformance, DestroyedWithTasksItTellsNothing) {
  start(plan("echo x > up; exec sleep 100"));
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  containers_.reset();
  runner_.reset();
  task_.reset();
  bool turned = false;
  loop_.post([&] { turned = true; });
  ASSERT_TRUE(until([&] { return turned; }));
  EXPECT_TRUE(ended_.empty());
  // Not at once: the environment of a process that is in the middle of its exec reads as empty.
  EXPECT_TRUE(until([&] { return marked() > 0; }));
  adopt(plan(""));  // to end it
  task_->stop();
  ASSERT_TRUE(ended());
}

class ContainerConformance : public RunnerTestBed {
 protected:
  ContainerConformance() : RunnerTestBed(RunnerKind::kContainer) {}
};

TEST_F(ContainerConformance, AContainerWhoseLeaseEndsBeforeItStartsIsFenced) {
  runtime_ = dir("slow_runtime");
  std::ofstream(runtime_) << "#!/bin/sh\ncase \"$*\" in *delete*) exit 0;; esac\nexec sleep 100\n";
  ::chmod(runtime_.c_str(), 0755);
  make_runner();
  lease_->renew(boottime_us() + 500'000);
  start(plan("true"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(ended_[0].exit.cause, "fenced");
}

TEST_F(ContainerConformance, WhatATaskMayOnlyReadIsNotMadeForIt) {
  TaskPlan wanted = plan("true");
  wanted.shared.push_back({dir("gone"), "/mnt/gone", false});
  start(wanted);
  ASSERT_TRUE(ended());
  EXPECT_NE(ended_[0].exit.exit_code, 0);
  EXPECT_NE(ended_[0].exit.cause.find("start_failed"), std::string::npos) << ended_[0].exit.cause;
  EXPECT_NE(::access(dir("gone").c_str(), F_OK), 0);
}

INSTANTIATE_TEST_SUITE_P(Runners, EveryRunner,
                         ::testing::Values(RunnerKind::kProcess, RunnerKind::kContainer,
                                           RunnerKind::kNull),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Runners, RunnerConformance,
                         ::testing::Values(RunnerKind::kProcess, RunnerKind::kContainer), name_of);

}  // namespace
}  // namespace dove::agent
