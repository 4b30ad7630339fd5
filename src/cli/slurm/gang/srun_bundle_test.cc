#include "cli/slurm/gang/srun_bundle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/slurm/gang/srun_lines.h"

namespace dove::cli {
namespace {

const std::string kShell = "/bin/sh";

GangStep step_of(const std::vector<std::string>& scripts) {
  GangStep step;
  step.environment = {"PATH=/usr/bin:/bin"};
  for (const std::string& script : scripts) {
    SrunCall& call = step.calls.emplace_back();
    call.words = {"-c", script};
    call.takes_input = false;
  }
  return step;
}

// The bundle is for a process of its own: what it ends with.
template <class Act>
int in_a_process(const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::_exit(act());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int code_of(const GangStep& step) {
  return in_a_process([&] {
    const Result<int> code = run_srun_bundle(kShell, step);
    return code.ok() ? *code : 255;
  });
}

TEST(SrunBundle, TheHighestCodeIsItsOwnAndTheOthersRunOn) {
  const std::string fails =
      "printf '50%%|###' >&2; echo 'srun: error: n1: task 0: Exited with exit code 3' >&2; exit 3";
  EXPECT_EQ(code_of(step_of({fails, "exit 0", "echo 'srun: error: n2: task 0: x' >&2; exit 5"})),
            5);
}

TEST(SrunBundle, OneThatCannotBeginEndsTheOthers) {
  EXPECT_EQ(code_of(step_of({"echo 'srun: error: Unable to create step for job 7: x' >&2; exit 4",
                             "exec sleep 1000"})),
            4);
}

// Else a handler of the program took what was sent to an srun that had not been executed yet.
TEST(SrunBundle, AnSrunIsEndedHoweverSoonAfterItsFork) {
  const GangStep step = step_of(
      {"echo 'srun: error: Unable to create step for job 7: x' >&2; exit 4", "exec sleep 1000"});
  for (int i = 0; i < 50; ++i) {
    const int code = in_a_process([&] {
      ::signal(SIGTERM, [](int) {});
      const Result<int> ended = run_srun_bundle(kShell, step);
      return ended.ok() ? *ended : 255;
    });
    ASSERT_EQ(code, 4);
  }
}

TEST(SrunBundle, FilesOfNodesAreEachWrittenOnce) {
  const std::string folder = testing::TempDir() + "dove-srun-bundle";
  std::filesystem::create_directories(folder);
  GangStep step = step_of({"echo a; echo b >&2", "echo c; echo d >&2", "echo e"});
  step.calls[0].output.path = step.calls[0].error.path = folder + "/n0";
  step.calls[1].output.path = step.calls[2].output.path = folder + "/both";
  step.calls[1].error.path = "/dev/null";
  EXPECT_EQ(code_of(step), 0);
  const auto lines = [&](const char* name) {
    std::ifstream file(folder + "/" + name);
    std::multiset<std::string> all;
    for (std::string line; std::getline(file, line);) all.insert(line);
    return all;
  };
  EXPECT_EQ(lines("n0"), (std::multiset<std::string>{"a", "b"}));
  EXPECT_EQ(lines("both"), (std::multiset<std::string>{"c", "e"}));
  std::filesystem::remove_all(folder);
}

// With --wait: those of other nodes, too.
TEST(SrunBundle, OthersAreEndedSomeTimeAfterTheFirst) {
  const std::string mark(kBegunMark);
  GangStep step = step_of({"exit 0", "printf '" + mark + "' >&2; exec sleep 1000"});
  step.wait_s = 1;
  EXPECT_EQ(code_of(step), 128 + SIGTERM);
  step = step_of({"echo 'srun: First task exited 1000s ago' >&2; exec sleep 1000",
                  "printf '" + mark + "' >&2; exec sleep 1000"});
  step.wait_s = 1000;
  EXPECT_EQ(code_of(step), 128 + SIGTERM);
}

// Two steps, each of which needs the whole of two nodes, which are locks here, until its tasks have
// met. The first one's srun takes the second node late: once the other step has it, or waits to be
// next. Where steps took nodes at will, each would wait for the other here without end.
TEST(SrunBundle, StepsThatNeedTheSameNodesDoNotWaitForEachOther) {
  const std::string folder = testing::TempDir() + "dove-step-turns";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto until = [](const std::string& what) {
    return "until " + what + "; do sleep 0.01; done; ";
  };
  const auto take = [&](const std::string& node, const std::string& before,
                        const std::string& who) {
    const std::string meet = until("[ -e " + who + "-70 ] && [ -e " + who + "-71 ]");
    return "cd " + folder + "; " + before + "exec flock " + node + " sh -c 'touch " + who + "-" +
           node + "; printf \"\\001dove-step-begun\\n\" >&2; " + meet + "'";
  };
  const GangStep first =
      step_of({take("70", "", "first"),
               take("71", until("[ -e second-waits ] || [ -e second-71 ]"), "first")});
  // Were it next at once, it would keep its second node, and wait for the first one.
  const GangStep second =
      step_of({take("70", until("[ -e first-70 ]"), "second"), take("71", "", "second")});
  const auto code_with = [](const GangStep& step, StepTurn turn) {
    const Result<int> code = run_srun_bundle(kShell, step, std::move(turn));
    return code.ok() ? *code : 255;
  };
  StepTurn turn(folder + "/turns", {"71", "70"});
  ASSERT_TRUE(turn.try_take());
  const pid_t other = ::fork();
  if (other == 0) ::_exit(code_with(first, std::move(turn)));
  turn.end();  // the other process has it
  EXPECT_EQ(in_a_process([&] {
              StepTurn own(folder + "/turns", {"70", "71"});
              if (!own.try_take()) {
                std::ofstream(folder + "/second-waits").close();
                own.wait();
              }
              return code_with(second, std::move(own));
            }),
            0);
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/second-waits"));
  std::filesystem::remove_all(folder);
}

TEST(SrunBundle, WhereFilesRunOutNobodyElseIsEnded) {
  GangStep step = step_of({"exec sleep 1000", "exec sleep 1000", "exec sleep 1000"});
  const int code = in_a_process([&] {
    const rlimit few{8, 8};
    ::setrlimit(RLIMIT_NOFILE, &few);
    if (run_srun_bundle(kShell, step).ok()) return 1;
    // It blocks the signal, so that one to its own group would wait here.
    sigset_t waiting;
    ::sigpending(&waiting);
    return sigismember(&waiting, SIGTERM) != 0 ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
}

// Many, so that the first ones would have run by then.
TEST(SrunBundle, NoTaskRunsBeforeAllFilesOfTheStepAreOpen) {
  const std::string mark = testing::TempDir() + "dove-srun-has-run";
  std::filesystem::remove(mark);
  GangStep step = step_of(std::vector<std::string>(40, "trap '' TERM; touch " + mark));
  step.calls.back().output.path = "/nowhere/at/all";
  EXPECT_EQ(code_of(step), 255);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(SrunBundle, AnSrunThatCannotBeExecutedSaysWhy) {
  const GangStep step = step_of({"exit 0", "exit 0"});
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(in_a_process([&] {
              ::dup2(ends[1], STDERR_FILENO);
              const Result<int> code = run_srun_bundle("/nowhere/srun", step);
              return code.ok() ? *code : 255;
            }),
            127);
  ::close(ends[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], said.data(), 4096), 0)));
  ::close(ends[0]);
  EXPECT_NE(said.find("cannot run /nowhere/srun: No such file or directory"), std::string::npos)
      << said;
}

// As a job's in the background of a shell.
TEST(SrunBundle, TheTerminalOfAnotherGroupIsLeftThere) {
  GangStep step = step_of({"exit 0", "exit 0"});
  step.calls.front().has_terminal = true;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  for (const bool is_foreground : {false, true}) {
    const pid_t shell = ::fork();
    if (shell == 0) {
      ::setsid();
      ::dup2(::open(name.c_str(), O_RDWR), STDIN_FILENO);
      std::array<int, 2> go{};
      if (::pipe(go.data()) != 0) ::_exit(2);
      const pid_t job = ::fork();
      if (job == 0) {
        ::setpgid(0, 0);
        char one = 0;
        const bool may_go = ::read(go[0], &one, 1) == 1;
        ::_exit(may_go && run_srun_bundle(kShell, step).ok() ? 0 : 1);
      }
      ::setpgid(job, job);
      ::signal(SIGTTOU, SIG_IGN);
      if (is_foreground) ::tcsetpgrp(STDIN_FILENO, job);
      const pid_t before = ::tcgetpgrp(STDIN_FILENO);
      if (::write(go[1], "g", 1) != 1) ::_exit(3);
      int status = 0;
      ::waitpid(job, &status, 0);
      ::_exit(status != 0 ? 4 : ::tcgetpgrp(STDIN_FILENO) == before ? 0 : 1);
    }
    int status = 0;
    ::waitpid(shell, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0) << is_foreground;
  }
  ::close(terminal);
}

// As a shell's `fg` does it.
TEST(SrunBundle, AStepThatBeganInTheBackgroundIsBroughtToTheFront) {
  GangStep step = step_of({"read line; [ \"$line\" = hello ] && exit 7", "exit 0"});
  step.calls.front().has_terminal = true;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::setsid();
    ::dup2(::open(name.c_str(), O_RDWR), STDIN_FILENO);
    ::signal(SIGTTOU, SIG_IGN);
    const pid_t job = ::fork();
    if (job == 0) {
      ::setpgid(0, 0);
      ::signal(SIGTTOU, SIG_DFL);
      const Result<int> code = run_srun_bundle(kShell, step);
      ::_exit(code.ok() ? *code : 255);
    }
    ::setpgid(job, job);
    int status = 0;
    ::waitpid(job, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) ::_exit(100);
    ::tcsetpgrp(STDIN_FILENO, job);
    ::kill(-job, SIGCONT);
    ::waitpid(job, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 101);
  }
  EXPECT_EQ(::write(terminal, "hello\n", 6), 6);
  int status = 0;
  ::waitpid(shell, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  ::close(terminal);
}

TEST(SrunBundle, OneThatIsStoppedIsEndedToo) {
  const std::string file = ::testing::TempDir() + "stopped." + std::to_string(::getpid());
  const std::string stops = "echo $$ >" + file + "; kill -STOP $$; exec sleep 1000";
  const std::string refused =
      "until grep -q '^State:.T' /proc/$(cat " + file + ")/status; do :; done 2>/dev/null; exit 4";
  EXPECT_EQ(code_of(step_of({stops, refused})), 4);
  std::filesystem::remove(file);
}

TEST(SrunBundle, ItMayOpenWhatTheHardLimitAllowsAndItsSrunsAsBefore) {
  const GangStep step = step_of({"[ $(ulimit -Sn) = 8 ]", "[ $(ulimit -Sn) = 8 ]", "exit 0"});
  const int code = in_a_process([&] {
    const rlimit few{8, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const Result<int> ended = run_srun_bundle(kShell, step);
    return ended.ok() ? *ended : 255;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace dove::cli
