#include "cli/slurm/gang/srun_bundle.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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
