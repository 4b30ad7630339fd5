#include "command/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace dove::command {
namespace {

using std::chrono::steady_clock;

Wanted shell(const std::string& line) {
  Wanted wanted;
  wanted.words = {"/bin/sh", "-c", line};
  return wanted;
}

TEST(Command, KeepsWhatAProgramPrintsAndItsExitStatus) {
  ::signal(SIGPIPE, SIG_IGN);
  Wanted wanted = shell("cat; echo \"$A.$HOME\"; echo why >&2; exit 3");
  wanted.input = "asked\n";
  wanted.environment = {"A=b"};
  const Result<End> end = run(wanted);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->output, "asked\nb.\n");
  EXPECT_EQ(end->said, "why");
  EXPECT_EQ(end->code, 3);
}

TEST(Command, WhatItLeavesBehindIsKilledAndNotWaitedFor) {
  // The child holds both pipes open.
  const auto began = steady_clock::now();
  const Result<End> end = run(shell("sleep 300 & echo $!"));
  ASSERT_TRUE(end.ok());
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(5));
  const pid_t child = std::stoi(end->output);
  // Whoever inherits it may not have reaped it yet, so a zombie will do.
  while (::kill(child, 0) == 0) {
    const Result<End> state = run(shell("ps -o stat= -p " + std::to_string(child)));
    ASSERT_TRUE(state.ok());
    if (state->output.empty() || state->output[0] == 'Z') break;
    ASSERT_LT(steady_clock::now() - began, std::chrono::seconds(20)) << state->output;
  }
}

TEST(Command, HasALimitOfTimeAndOneOfOutput) {
  Wanted slow = shell("exec sleep 300");
  slow.limit = std::chrono::milliseconds(50);
  EXPECT_EQ(run(slow).error().code, "too_slow");
  Wanted loud = shell("exec cat /dev/zero");
  loud.output_max = 1000;
  EXPECT_EQ(run(loud).error().code, "too_much");
  Wanted missing;
  missing.words = {"/no/such/program"};
  EXPECT_EQ(run(missing).error().code, "cannot_start");
}

TEST(Command, HasASessionOfItsOwnWhereThatIsWanted) {
  Wanted wanted = shell("exec ps -o sid= -p $$");
  EXPECT_EQ(std::stoi(run(wanted)->output), ::getsid(0));
  wanted = shell("echo $$; exec ps -o sid= -p $$");
  wanted.own_session = true;
  const Result<End> end = run(wanted);
  ASSERT_TRUE(end.ok());
  std::size_t at = 0;
  const int pid = std::stoi(end->output, &at);
  EXPECT_EQ(std::stoi(end->output.substr(at)), pid);
}

}  // namespace
}  // namespace dove::command
