#include "agent/tasks/process_runner.h"

#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "agent/aside/linux_user.h"
#include "agent/attempts/attempt_record.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/runner_test_bed.h"
#include "agent/tasks/tail.h"
#include "agent/tasks/task_plan.h"

namespace dove::agent {
namespace {

class ProcessRunnerTest : public RunnerTestBed {};

TEST_F(ProcessRunnerTest, NothingEscapesACgroup) {
  CgroupRoot probe = CgroupRoot::detect(cgroup());
  if (probe.version() == CgroupRoot::Version::kNone) GTEST_SKIP() << probe.not_enforced();
  make_runner(/*limited=*/true);
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
  ASSERT_TRUE(look_up_linux_user("nobody").ok());
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
  write_ended(attempt, protocol::Ended{order.key, {ended_[0].exit}}, 0);
  int made = 1;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(attempt)) {
    made += entry.exists() ? 1 : 0;
  }
  EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace dove::agent
