#include "agent/containers/container_ways.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "containers/place.h"

namespace dove::agent {
namespace {

// The kernel can what the test writes into a file; each trial leaves a line in another.
class ContainerWaysTest : public testing::Test {
 protected:
  ContainerWaysTest() {
    std::string pattern = testing::TempDir() + "ways.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ + "/contain")
        << "#!/bin/sh\n[ $1 = try-ways ] || exit 1\necho >> " << folder_ << "/trials\nexit $(cat "
        << folder_ << "/can)\n";
    ::chmod((folder_ + "/contain").c_str(), 0755);
    options_.contain_path = folder_ + "/contain";
    options_.directory = folder_ + "/ways";
    options_.again = options_.again_when_well = std::chrono::milliseconds(5);
    options_.again_most = std::chrono::milliseconds(20);
  }
  ~ContainerWaysTest() override { std::filesystem::remove_all(folder_); }

  void kernel_can(int what) {
    std::ofstream(folder_ + "/can.new") << what;
    std::rename((folder_ + "/can.new").c_str(), (folder_ + "/can").c_str());
  }
  int trials() const {
    std::ifstream file(folder_ + "/trials");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  bool until(const std::function<bool()>& done) {
    wire::Timer ticker;
    std::function<void()> tick = [&] {
      ticker = loop_.after(std::chrono::milliseconds(2), [&tick] { tick(); });
    };
    tick();
    return loop_.run_until(done, std::chrono::seconds(20));
  }

  std::string folder_;
  wire::Loop loop_;
  ContainerWaysOptions options_;
};

TEST_F(ContainerWaysTest, WhatTheKernelLearnsIsFound) {
  kernel_can(0);
  const ContainerWays ways(loop_, options_);
  EXPECT_EQ(trials(), 1);
  EXPECT_FALSE(ways.has_vxlan());
  EXPECT_EQ(ways.text(), "");
  EXPECT_NE(ways.shortfall(), "");
  kernel_can(containers::kVxlans);
  ASSERT_TRUE(until([&] { return ways.has_vxlan(); }));
  EXPECT_EQ(ways.text(), "");
  kernel_can(containers::kVxlans + containers::kWaysOut);
  ASSERT_TRUE(until([&] { return !ways.text().empty(); }));
  EXPECT_TRUE(ways.has_vxlan());
}

TEST_F(ContainerWaysTest, WhatTwoTrialsMissIsGone) {
  kernel_can(containers::kVxlans + containers::kWaysOut);
  const ContainerWays ways(loop_, options_);
  ASSERT_TRUE(ways.has_vxlan());
  EXPECT_NE(ways.text(), "");
  kernel_can(100);  // no answer
  const int before = trials();
  ASSERT_TRUE(until([&] { return trials() > before + 3; }));
  EXPECT_TRUE(ways.has_vxlan());
  kernel_can(containers::kWaysOut);
  ASSERT_TRUE(until([&] { return !ways.has_vxlan(); }));
  EXPECT_NE(ways.text(), "");
  kernel_can(0);
  ASSERT_TRUE(until([&] { return ways.text().empty(); }));
  EXPECT_NE(ways.shortfall(), "");
}

TEST_F(ContainerWaysTest, OneTrialThatFailsTakesNothingAway) {
  kernel_can(containers::kVxlans + containers::kWaysOut);
  options_.again_when_well = std::chrono::milliseconds(1);
  options_.again = std::chrono::hours(1);  // to the trial after the one that failed
  options_.again_most = std::chrono::hours(1);
  const ContainerWays ways(loop_, options_);
  kernel_can(0);
  const int before = trials();
  ASSERT_TRUE(until([&] { return trials() > before; }));
  ASSERT_FALSE(loop_.run_until([] { return false; }, std::chrono::milliseconds(50)));
  EXPECT_TRUE(ways.has_vxlan());
}

}  // namespace
}  // namespace dove::agent
