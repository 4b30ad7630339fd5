#include "agent/process_runner.h"

#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "agent/attempt_record.h"
#include "agent/cgroup.h"
#include "agent/lease.h"
#include "agent/shim_test_bed.h"
#include "agent/tail.h"
#include "agent/task_plan.h"

namespace dove::agent {
namespace {

class ProcessRunnerTest : public ShimTestBed {
 protected:
  void SetUp() override {
    ShimTestBed::SetUp();
    Result<LeaseWriter> lease = LeaseWriter::open(root_ + "/lease");
    ASSERT_TRUE(lease.ok());
    lease_.emplace(std::move(lease).value());
    lease_->renew(boottime_us() + 60'000'000);
    make_runner();
  }
  void TearDown() override {
    task_.reset();
    runner_.reset();
    ShimTestBed::TearDown();
  }

  void make_runner() {
    Result<std::unique_ptr<ProcessRunner>> made = ProcessRunner::make(loop_, {shim_, root_, false});
    ASSERT_TRUE(made.ok()) << made.error().message;
    runner_ = std::move(made).value();
  }
  TaskPlan plan(const std::string& script, const std::string& name = "task") {
    TaskPlan plan;
    plan.path = dir(name);
    plan.mark = mark_;
    plan.rank = 3;
    plan.argv = {"/bin/sh", "-c", script};
    plan.environment = {{"PATH", "/usr/bin:/bin"}};
    plan.workdir = root_;
    plan.stdout_path = plan.stderr_path = dir("out");
    plan.kill_grace_us = 200'000;
    return plan;
  }
  TaskCallbacks calls() {
    return TaskCallbacks{[this] { ++started_; },
                         [this](TaskEnd end) {
                           ended_.push_back(std::move(end));
                           if (drops_task_) task_.reset();
                         }};
  }
  void start(const TaskPlan& plan) {
    Result<std::unique_ptr<RunningTask>> task = runner_->start(plan, calls());
    ASSERT_TRUE(task.ok()) << task.error().message;
    task_ = std::move(task).value();
  }
  // What an agent killed and started again does.
  void adopt(const TaskPlan& plan) {
    task_.reset();
    runner_.reset();
    make_runner();
    Result<std::unique_ptr<RunningTask>> task = runner_->adopt(plan, calls());
    ASSERT_TRUE(task.ok()) << task.error().message;
    task_ = std::move(task).value();
  }
  bool until(const std::function<bool()>& done) {
    std::function<void()> tick = [&] {
      ticker_ = loop_.after(std::chrono::milliseconds(2), [&tick] { tick(); });
    };
    tick();
    const bool held = loop_.run_until(done, std::chrono::seconds(20));
    ticker_.cancel();
    return held;
  }
  bool ended() {
    return until([&] { return !ended_.empty(); });
  }
  pid_t shim_pid(const std::string& name = "task") {
    Result<ShimHandle::Adopted> found = ShimHandle::adopt(dir(name));
    EXPECT_TRUE(found.ok());
    return found.ok() ? found->handle.pid() : 0;
  }

  wire::Loop loop_;
  wire::Timer ticker_;
  std::optional<LeaseWriter> lease_;
  std::unique_ptr<ProcessRunner> runner_;
  std::unique_ptr<RunningTask> task_;
  bool drops_task_ = true;  // as its holder does
  int started_ = 0;
  std::vector<TaskEnd> ended_;
};

TEST_F(ProcessRunnerTest, NothingEscapesACgroup) {
  CgroupRoot probe = CgroupRoot::detect("dove-test-" + std::to_string(getpid()));
  if (probe.version() == CgroupRoot::Version::kNone) GTEST_SKIP() << probe.not_enforced();
  runner_.reset();
  Result<std::unique_ptr<ProcessRunner>> made =
      ProcessRunner::make(loop_, {shim_, root_, false, "dove-test-" + std::to_string(getpid())});
  ASSERT_TRUE(made.ok()) << made.error().message;
  runner_ = std::move(made).value();
  // Out of the session, without a mark, without a parent: only its cgroup knows whose it is.
  start(plan("setsid env -i sleep 300 & echo $! >" + dir("pid") + "; wait"));
  ASSERT_TRUE(until([&] { return !read("pid").empty(); }));
  kill(shim_pid(), SIGKILL);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  const std::string pid = std::to_string(std::stol(read("pid")));
  std::ifstream command("/proc/" + pid + "/cmdline");  // gone, or empty until it is collected
  std::string word;
  EXPECT_FALSE(std::getline(command, word, '\0')) << word;
  runner_.reset();
  probe.remove();
}

TEST_F(ProcessRunnerTest, ATaskOverItsMemorySaysPeakAndLimit) {
  const std::string name = "dove-test-" + std::to_string(getpid());
  CgroupRoot probe = CgroupRoot::detect(name);
  if (probe.not_enforced().find("memory") != std::string::npos) {
    GTEST_SKIP() << probe.not_enforced();
  }
  runner_.reset();
  Result<std::unique_ptr<ProcessRunner>> made =
      ProcessRunner::make(loop_, {shim_, root_, false, name, 100});
  ASSERT_TRUE(made.ok()) << made.error().message;
  runner_ = std::move(made).value();
  TaskPlan hungry = plan("head -c 300000000 /dev/zero | tail -c 200000000 >/dev/null; exit $?");
  hungry.attempt = "7.1";
  hungry.memory_bytes = 32 << 20;
  start(hungry);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 128 + SIGKILL);
  EXPECT_EQ(ended_[0].exit.cause, "out_of_memory: peak 32 MiB, limit 32 MiB");
  runner_.reset();
  probe.remove();
}

TEST_F(ProcessRunnerTest, TellsTheStartAndTheEndOnce) {
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

TEST_F(ProcessRunnerTest, ATaskThatCannotStartSaysWhy) {
  TaskPlan broken = plan("");
  broken.argv = {"/no/such/program"};
  start(broken);
  ASSERT_TRUE(ended());
  EXPECT_EQ(started_, 0);
  EXPECT_EQ(ended_[0].exit.exit_code, 127);
  EXPECT_NE(ended_[0].exit.cause.find("start_failed: cannot execute"), std::string::npos);
}

TEST_F(ProcessRunnerTest, AnUnknownUserIsAnError) {
  TaskPlan of_nobody = plan("true");
  of_nobody.linux_user = "no-such-user-here";
  EXPECT_FALSE(runner_->start(of_nobody, calls()).ok());
}

TEST_F(ProcessRunnerTest, StopsATask) {
  start(plan("trap 'exit 7' TERM; echo x > up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(until([&] { return read("up") == "x\n" && started_ > 0; }));
  EXPECT_EQ(started_, 1);
  task_->stop();
  task_->stop();
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 7);
}

TEST_F(ProcessRunnerTest, WhatAKilledShimLeftIsSweptBeforeTheEndIsTold) {
  start(plan("setsid sh -c 'echo $$ > child; exec sleep 100' & echo $$ > pid; wait"));
  const pid_t task = pid_in("pid");
  const pid_t child = pid_in("child");
  ::kill(shim_pid(), SIGKILL);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  EXPECT_EQ(ended_[0].exit.signal, 9);
  EXPECT_FALSE(alive(task));
  EXPECT_FALSE(alive(child));
}

TEST_F(ProcessRunnerTest, AnAdoptedTaskTellsItsEnd) {
  const TaskPlan same = plan("echo x > up; while ! [ -e go ]; do sleep 0.01; done; rm go; exit 5");
  start(same);
  ASSERT_TRUE(until([&] { return read("up") == "x\n"; }));
  started_ = 0;
  adopt(same);
  EXPECT_TRUE(ended_.empty());
  std::ofstream(dir("go")) << "x";
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 5);
  EXPECT_EQ(started_, 0) << "that was told by the former agent";
}

TEST_F(ProcessRunnerTest, AnAdoptedTaskCanBeStopped) {
  const TaskPlan same = plan("echo $$ > pid; exec sleep 100");
  start(same);
  const pid_t pid = pid_in("pid");
  adopt(same);
  task_->stop();
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.signal, SIGTERM);
  EXPECT_FALSE(alive(pid));
}

TEST_F(ProcessRunnerTest, ATaskThatEndedWithoutAnAgentIsTold) {
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

TEST_F(ProcessRunnerTest, ATaskWhoseShimDiedWithoutAnAgentIsSwept) {
  const TaskPlan same = plan("setsid sh -c 'echo $$ > child; exec sleep 100' & wait");
  start(same);
  const pid_t child = pid_in("child");
  const pid_t shim = shim_pid();
  task_.reset();
  runner_.reset();
  ::kill(shim, SIGKILL);
  ASSERT_TRUE(wait_until([&] { return !alive(shim); }));
  adopt(same);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
  EXPECT_FALSE(alive(child));
}

TEST_F(ProcessRunnerTest, ATaskThatNeverWasIsOver) {
  adopt(plan("true"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "shim_lost");
}

TEST_F(ProcessRunnerTest, ATaskEndsWithItsLease) {
  lease_->renew(boottime_us() + 300'000);
  start(plan("echo $$ > pid; exec sleep 100"));
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "fenced");
  EXPECT_FALSE(alive(pid_in("pid")));
}

// What a task writes where the agent put it, or to a file of its own, belongs to its user.
TEST_F(ProcessRunnerTest, AMappedUserCanWriteItsOutput) {
  const passwd* user = getpwnam("nobody");
  if (geteuid() != 0 || user == nullptr) GTEST_SKIP() << "needs root";
  AgentFacts facts;
  facts.node = "n1";
  LaunchOrder order;
  order.key = {JobId(7), 1};
  order.linux_user = "nobody";
  order.exec.command = {"/bin/sh", "-c", "echo out; echo err >&2; echo here > file; id -un"};
  const std::string attempt = dir("7.1");
  ASSERT_TRUE(write_attempt(attempt, order, "{}", "nobody").ok());
  Result<TaskPlan> planned = plan_main_task(
      PlanContext{facts, order, attempt, /*mapped_users=*/true, true, 1 << 20}, TaskGrant{});
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  start(*planned);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.cause, "");
  EXPECT_EQ(ended_[0].exit.exit_code, 0);
  EXPECT_EQ(read("7.1/output/r0.stdout"), "out\nnobody\n");
  EXPECT_EQ(read("7.1/output/r0.stderr"), "err\n");
  EXPECT_EQ(read("7.1/work/file"), "here\n");
  FileTail own(planned->stdout_path, 0, user->pw_uid);
  ASSERT_TRUE(own.read(100).ok());
  // A path of a user's choice that leads elsewhere shows nothing.
  ASSERT_EQ(::symlink("/etc/shadow", dir("7.1/output/link").c_str()), 0);
  FileTail other(dir("7.1/output/link"), 0, user->pw_uid);
  EXPECT_FALSE(other.read(100).ok());
}

// Each file costs the job's time: the attempt's directory, its record, the task's file and the
// working directory must do.
TEST_F(ProcessRunnerTest, AJobThatPrintsNothingMakesFourFiles) {
  AgentFacts facts;
  facts.node = "n1";
  LaunchOrder order;
  order.key = {JobId(7), 1};
  order.exec.command = {"/bin/true"};
  const std::string attempt = dir("7.1");
  ASSERT_TRUE(write_attempt(attempt, order, "{}", "").ok());
  Result<TaskPlan> planned =
      plan_main_task(PlanContext{facts, order, attempt, false, true, 1 << 20}, TaskGrant{});
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  start(*planned);
  ASSERT_TRUE(ended());
  EXPECT_EQ(ended_[0].exit.exit_code, 0);
  write_ended(attempt, Report{ReportKind::kEnded, order.key, {ended_[0].exit}, "", 0, 0, 0});
  int made = 1;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(attempt)) {
    made += entry.exists() ? 1 : 0;
  }
  EXPECT_EQ(made, 4);
}

TEST_F(ProcessRunnerTest, DestroyedWithTasksItTellsNothing) {
  start(plan("echo $$ > pid; exec sleep 100"));
  const pid_t pid = pid_in("pid");
  runner_.reset();
  task_.reset();
  bool turned = false;
  loop_.post([&] { turned = true; });
  ASSERT_TRUE(until([&] { return turned; }));
  EXPECT_TRUE(ended_.empty());
  EXPECT_TRUE(alive(pid));
}

}  // namespace
}  // namespace dove::agent
