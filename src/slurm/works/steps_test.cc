#include "slurm/works/steps.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "slurm/works/srun.h"
#include "slurm/works/step_keeper.h"

namespace dove::slurm {
namespace {

using std::chrono::steady_clock;

// A "srun" that is a script in a directory of our own, which comes first in PATH.
class StepsTest : public testing::Test {
 protected:
  StepsTest() {
    ::chmod(folder.c_str(), 0755);
    ::setenv("PATH", (folder + ":" + path).c_str(), 1);
  }
  ~StepsTest() override {
    ::setenv("PATH", path.c_str(), 1);
    std::filesystem::remove_all(folder);
  }
  void srun(const std::string& script) const {
    std::ofstream(folder + "/srun") << "#!/bin/sh\n" << script;
    ::chmod((folder + "/srun").c_str(), 0755);
  }
  // Somebody who is not root, whom this process may become.
  static std::string somebody() {
    if (::geteuid() == 0) return "nobody";
    return ::getpwuid(::geteuid())->pw_name;
  }
  StepWanted step(const std::string& user = somebody()) const {
    StepWanted step;
    step.slurm_job = 12;
    step.work.key = key;
    step.work.user = user;
    step.work.ranks = {0};
    step.work.program.emplace().script = "the script";
    return step;
  }
  StepSeen seen() {
    const auto all = steps.all();
    EXPECT_TRUE(all.ok() && all->size() == 1);
    return all.ok() && !all->empty() ? (*all)[0] : StepSeen{};
  }
  bool until(const std::function<bool()>& holds) const {
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  static std::string new_folder() {
    char name[] = "/tmp/dove-steps.XXXXXX";
    return ::mkdtemp(name);
  }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const PlaceholderKey key{17, 2, "gpu-1.lab"};
  const std::string folder = new_folder();
  const std::string path = std::getenv("PATH");
  std::vector<std::vector<std::string>> commands;
  std::string steps_there;  // as squeue prints them
  StepDirectory steps{folder + "/state/dove", [this](const CommandWanted& wanted) {
                        commands.push_back(wanted.words);
                        CommandEnd end;
                        if (wanted.words[0] == "squeue") end.output = steps_there;
                        return Result<CommandEnd>(end);
                      }};
};

TEST_F(StepsTest, NamesAreReadBack) {
  EXPECT_EQ(step_name(key), "17.2.gpu-1.lab");
  EXPECT_EQ(read_step_name("17.2.gpu-1.lab"), key);
  for (const char* other : {"new.17.2.n1", "17.2.", "17.n1", "017.2.n1", ".."}) {
    EXPECT_FALSE(read_step_name(other).has_value()) << other;
  }
}

TEST_F(StepsTest, WithoutADirectoryThereAreNone) {
  const auto all = steps.all();
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->empty());
}

TEST_F(StepsTest, ItEndsWithTheCodeOfSrunAndIsForgotten) {
  srun("cat; id -un >&2; echo 'srun: error: n1: task 0: Killed' >&2; exit 5\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  ASSERT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
  EXPECT_EQ(seen().code, 5);
  EXPECT_EQ(seen().slurm_job, 12);
  EXPECT_EQ(seen().said, somebody() + "\nsrun: error: n1: task 0: Killed\n");
  struct stat info {};
  ASSERT_EQ(::stat((folder + "/state/dove").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  steps.forget(key);
  EXPECT_TRUE(steps.all()->empty());
}

TEST_F(StepsTest, OfALongSpeechTheBeginningAndTheEndAreKept) {
  srun(
      "echo first >&2; yes 'no space left on the device' | head -n 100000 >&2\n"
      "echo 'srun: error: n1: task 0: Exited with exit code 3' >&2; exit 3\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  ASSERT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
  const std::string file = folder + "/state/dove/" + step_name(key) + "/said";
  EXPECT_EQ(std::filesystem::file_size(file), kSaidMax);
  EXPECT_TRUE(seen().said.starts_with("first\nno space"));
  const std::vector<TaskEnd> ends = ends_of(seen().said, seen().code, {0});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].exit_code, 3);
}

TEST_F(StepsTest, WhatSrunLeavesRunningKeepsNobodyWaiting) {
  // What is left running ends with the folder.
  srun("while [ -d " + folder + " ]; do sleep 0.02; done &\necho 'srun: said' >&2; exit 4\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  EXPECT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
  EXPECT_EQ(seen().code, 4);
  EXPECT_EQ(seen().said, "srun: said\n");
}

TEST_F(StepsTest, ASrunThatIsGivenUpIsKilled) {
  srun("exec sleep 600\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  EXPECT_FALSE(seen().is_given_up);
  ASSERT_TRUE(steps.give_up(key).ok());
  EXPECT_TRUE(seen().is_given_up);
  ASSERT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
  EXPECT_EQ(seen().code, 128 + SIGKILL);
  steps.forget(key);
  EXPECT_TRUE(steps.all()->empty());
}

TEST_F(StepsTest, OneThatEndsInTimeIsNot) {
  srun("sleep 1; exit 7\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  ASSERT_TRUE(steps.give_up(key).ok());
  ASSERT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
  EXPECT_EQ(seen().code, 7);
}

TEST_F(StepsTest, AnotherAdapterFindsItRunning) {
  const std::string gate = folder + "/gate";
  srun("while [ ! -e " + gate + " ]; do sleep 0.02; done; exit 0\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  EXPECT_EQ(seen().state, StepSeen::State::kRunning);
  StepDirectory next(folder + "/state/dove");
  ASSERT_EQ(next.all()->size(), 1u);
  EXPECT_EQ((*next.all())[0].state, StepSeen::State::kRunning);
  std::ofstream(gate) << "open";
  EXPECT_TRUE(until([&] { return (*next.all())[0].state == StepSeen::State::kEnded; }));
}

TEST_F(StepsTest, WithoutAKeeperItIsLost) {
  std::filesystem::create_directories(folder + "/state/dove/" + step_name(key));
  std::ofstream(folder + "/state/dove/" + step_name(key) + "/lock") << "";
  EXPECT_EQ(seen().state, StepSeen::State::kLost);
}

TEST_F(StepsTest, NobodyElseAndNotRoot) {
  EXPECT_EQ(steps.begin(step("no-such-user")).error().code, "no_linux_user");
  EXPECT_EQ(steps.begin(step("root")).error().code, "root_runs_nothing");
  const char* const expected = ::geteuid() == 0 ? "system_account" : "adapter_not_root";
  EXPECT_EQ(steps.begin(step("daemon")).error().code, expected);
  EXPECT_TRUE(steps.all()->empty());
}

TEST_F(StepsTest, AWarningIsKeptAndGoesToTheStepsOfAScript) {
  const std::string gate = folder + "/gate";
  srun("while [ ! -e " + gate + " ]; do sleep 0.02; done\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  EXPECT_FALSE(seen().is_warned);
  steps_there = "12.extern\n120.0\n";
  EXPECT_EQ(steps.warn(seen(), {10, 0, false}).error().code, "not_begun");
  EXPECT_FALSE(seen().is_warned) << "nobody would have got it";
  commands.clear();
  steps_there = "12.extern\n12.0\n";
  ASSERT_TRUE(steps.warn(seen(), {10, 0, false}).ok());
  EXPECT_TRUE(seen().is_warned);
  EXPECT_EQ(seen().signals, 0) << "nothing stops it";
  ASSERT_TRUE(steps.warn(seen(), {10, 0, true}).ok());
  steps_there = "12.extern\n12.0\n12.1\n12.12\n120.1\n";
  ASSERT_TRUE(steps.warn(seen(), {10, 0, true}).ok());
  const std::vector<std::string> whole{"scancel", "--signal=10", "12"};
  ASSERT_EQ(commands.size(), 6u);
  EXPECT_EQ(commands[1], whole);
  EXPECT_EQ(commands[3], whole) << "it has started none";
  EXPECT_EQ(commands[5], (std::vector<std::string>{"scancel", "--signal=10", "12.1", "12.12"}));
  std::ofstream(gate) << "open";
  EXPECT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
}

TEST_F(StepsTest, SignalsAreCountedFromTheFirst) {
  const std::string gate = folder + "/gate";
  srun("while [ ! -e " + gate + " ]; do sleep 0.02; done\n");
  ASSERT_TRUE(steps.begin(step()).ok());
  ASSERT_TRUE(steps.signal(seen(), 15, 1, 1000).ok());
  ASSERT_TRUE(steps.signal(seen(), 9, 2, 1010).ok());
  EXPECT_EQ(seen().stop_since_s, 1000);
  EXPECT_EQ(seen().signals, 2);
  EXPECT_EQ(commands[0], (std::vector<std::string>{"scancel", "--signal=15", "12"}));
  std::ofstream(gate) << "open";
  EXPECT_TRUE(until([&] { return seen().state == StepSeen::State::kEnded; }));
}

}  // namespace
}  // namespace dove::slurm
