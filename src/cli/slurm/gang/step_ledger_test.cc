#include "cli/slurm/gang/step_ledger.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

class Ledger : public testing::Test {
 protected:
  Ledger() { fs::remove(path); }
  ~Ledger() override { fs::remove(path); }

  void add(const std::string& allocation, std::int64_t cpus) const {
    StepLedger ledger(path);
    ledger.add(allocation, cpus);
    ledger.close();
  }
  std::int64_t load_of(const std::string& allocation) const {
    return StepLedger(path).load_of(allocation);
  }

  const std::string path = testing::TempDir() + "dove-step-ledger";
};

TEST_F(Ledger, StepsAreKnownWhileTheirProcessesRun) {
  add("70", 4);
  add("70", 1);
  add("71", 2);
  EXPECT_EQ(load_of("70"), 5);
  EXPECT_EQ(load_of("71"), 2);
  const pid_t child = ::fork();
  if (child == 0) {
    add("70", 8);
    ::_exit(load_of("70") == 13 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(load_of("70"), 5) << "that one has ended";
  StepLedger ledger(path);
  ledger.drop_own();
  ledger.close();
  EXPECT_EQ(load_of("70"), 0);
}

TEST_F(Ledger, TheStepsOfEachJobAreCounted) {
  const auto next = [&](const std::string& allocation) {
    StepLedger ledger(path);
    const std::int64_t number = ledger.next_step(allocation);
    ledger.close();
    return number;
  };
  EXPECT_EQ(next("70"), 0);
  add("70", 4);
  EXPECT_EQ(next("71"), 0);
  EXPECT_EQ(next("70"), 1);
  for (int i = 0; i < 1200; ++i) next("job" + std::to_string(i));
  EXPECT_EQ(next("job1199"), 1);
  EXPECT_EQ(next("70"), 0) << "so long ago that it is forgotten";
  EXPECT_EQ(load_of("70"), 4);
}

TEST_F(Ledger, AnotherProcessWithTheSameNumberIsNoStep) {
  std::ofstream(path) << ::getpid() << " 1 70 4\n";
  EXPECT_EQ(load_of("70"), 0);
}

TEST_F(Ledger, ItIsTheUsersAloneAndNoLink) {
  add("70", 4);
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  const std::string other = path + "-other";
  fs::rename(path, other);
  fs::create_symlink(other, path);
  add("70", 4);
  EXPECT_EQ(load_of("70"), 0);
  EXPECT_EQ(StepLedger(other).load_of("70"), 4) << "the link's target is left alone";
  fs::remove(other);
}

TEST_F(Ledger, WhatIsNoLedgerIsAnEmptyOne) {
  std::ofstream(path) << "hello\n\xff";
  EXPECT_EQ(load_of("70"), 0);
  add("70", 4);
  EXPECT_EQ(load_of("70"), 4);
}

}  // namespace
}  // namespace dove::cli
