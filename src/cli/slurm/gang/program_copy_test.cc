#include "cli/slurm/gang/program_copy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

TEST(ProgramCopy, EachNodeGetsIts) {
  const std::string folder = testing::TempDir() + "dove-program-copy";
  fs::create_directories(folder);
  std::ofstream(folder + "/sbcast") << "#!/bin/sh\ncp \"$2\" \"$3\"\n";
  fs::permissions(folder + "/sbcast", fs::perms::owner_all);
  std::ofstream(folder + "/program") << "text";
  GangStep step;
  step.environment = {"PATH=/usr/bin:/bin"};
  for (const char* node : {"n0", "n1"}) {
    step.calls.emplace_back().copy = {"--force", folder + "/program", folder + "/" + node};
  }
  EXPECT_TRUE(copy_program(folder + "/srun", step).ok());
  EXPECT_TRUE(fs::exists(folder + "/n0") && fs::exists(folder + "/n1"));
  step.calls.back().copy = {"--force", folder + "/none", folder + "/n2"};
  EXPECT_FALSE(copy_program(folder + "/srun", step).ok());
  fs::remove(folder + "/sbcast");
  EXPECT_FALSE(copy_program(folder + "/srun", step).ok());
  fs::remove_all(folder);
}

// What is ignored so is inherited; then nothing is known of how a copy has ended.
TEST(ProgramCopy, OneWhoseEndIsNotKnownHasFailed) {
  const std::string folder = testing::TempDir() + "dove-program-copy-unknown";
  fs::create_directories(folder);
  std::ofstream(folder + "/sbcast") << "#!/bin/sh\nexit 1\n";
  fs::permissions(folder + "/sbcast", fs::perms::owner_all);
  GangStep step;
  step.calls.emplace_back().copy = {"a", "b"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGCHLD, SIG_IGN);
    ::_exit(copy_program(folder + "/srun", step).ok() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace dove::cli
