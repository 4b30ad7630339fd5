#include "agent/tasks/process_sweep.h"

#include <sys/stat.h>

#include <fstream>

#include "agent/tasks/shim_test_bed.h"

namespace dove::agent {
namespace {

class SweepTest : public ShimTestBed {};

TEST_F(SweepTest, FindsNothingWhereNothingIs) {
  const SweepResult swept = sweep(mark_);
  EXPECT_EQ(swept.found, 0);
  EXPECT_TRUE(swept.clean);
}

TEST_F(SweepTest, FindsTheMarkedAndTheirSessions) {
  // One marked in a session of its own; one in the task's session without the mark, whose parent
  // is gone.
  ShimHandle handle =
      spawn(shell("setsid sh -c 'echo $$ > a; exec sleep 100' & "
                  "(env -i /bin/sh -c 'echo $$ > b; exec /bin/sleep 100' &); echo $$ > pid; wait"));
  const pid_t session = pid_in("pid");
  const pid_t marked = pid_in("a");
  const pid_t unmarked = pid_in("b");
  ::kill(handle.pid(), SIGKILL);
  ASSERT_TRUE(handle.reap(10'000));
  ASSERT_TRUE(wait_until([&] { return !alive(session); }));
  const SweepResult swept = sweep({{mark_, session}}, std::chrono::seconds(5));
  EXPECT_TRUE(swept.clean);
  EXPECT_GE(swept.found, 2);
  EXPECT_FALSE(alive(marked));
  EXPECT_FALSE(alive(unmarked));
}

class SweepOften : public ShimTestBed, public testing::WithParamInterface<int> {};

// In the middle of execve(2) a process shows no environment. One look in 16 found it there.
TEST_P(SweepOften, FindsAProcessThatExecutesAgainAndAgain) {
  const std::string again = dir("again");
  std::ofstream(again) << "#!/bin/sh\n"
                          "[ -e child ] || { echo $$ > new && mv new child; }\n"
                          "exec \"$0\"\n";
  ::chmod(again.c_str(), 0755);
  ShimHandle handle = spawn(shell("setsid " + again + " & echo $$ > pid; wait"));
  const pid_t task = pid_in("pid");
  const pid_t child = pid_in("child");
  ::kill(handle.pid(), SIGKILL);
  ASSERT_TRUE(handle.reap(10'000));
  ASSERT_TRUE(wait_until([&] { return !alive(task); }));
  EXPECT_TRUE(sweep({{mark_, 0}}, std::chrono::seconds(5)).clean);
  EXPECT_FALSE(alive(child));
}
INSTANTIATE_TEST_SUITE_P(, SweepOften, testing::Range(0, 30));

TEST_F(SweepTest, LeavesOtherTasksAlone) {
  ShimConfig config = shell("echo $$ > pid; exec sleep 100");
  config.mark = mark_ + "x";
  ShimHandle other = spawn(config);
  const pid_t pid = pid_in("pid");
  EXPECT_EQ(sweep(mark_).found, 0);
  EXPECT_TRUE(alive(pid));
  other.kill();
  EXPECT_TRUE(other.reap(10'000));
}

}  // namespace
}  // namespace dove::agent
