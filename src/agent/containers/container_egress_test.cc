#include "agent/containers/container_egress.h"

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
class ContainerEgressTest : public testing::Test {
 protected:
  ContainerEgressTest() {
    std::string pattern = testing::TempDir() + "ways.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ + "/contain")
        << "#!/bin/sh\n[ $1 = try-egress ] || exit 1\necho >> " << folder_ << "/trials\nexit $(cat "
        << folder_ << "/can)\n";
    ::chmod((folder_ + "/contain").c_str(), 0755);
    options_.contain_path = folder_ + "/contain";
    options_.directory = folder_ + "/ways";
    options_.again = options_.again_when_well = std::chrono::milliseconds(5);
    options_.again_most = std::chrono::milliseconds(20);
  }
  ~ContainerEgressTest() override { std::filesystem::remove_all(folder_); }

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
  ContainerEgressOptions options_;
};

TEST_F(ContainerEgressTest, WhatTheKernelLearnsIsFound) {
  kernel_can(0);
  const ContainerEgress egress(loop_, options_);
  EXPECT_EQ(trials(), 1);
  EXPECT_FALSE(egress.has_vxlan());
  EXPECT_EQ(egress.text(), "");
  EXPECT_NE(egress.shortfall(), "");
  kernel_can(containers::kVxlans);
  ASSERT_TRUE(until([&] { return egress.has_vxlan(); }));
  EXPECT_EQ(egress.text(), "");
  kernel_can(containers::kVxlans + containers::kEgress);
  ASSERT_TRUE(until([&] { return !egress.text().empty(); }));
  EXPECT_TRUE(egress.has_vxlan());
}

TEST_F(ContainerEgressTest, WhatTwoTrialsMissIsGone) {
  kernel_can(containers::kVxlans + containers::kEgress);
  const ContainerEgress egress(loop_, options_);
  ASSERT_TRUE(egress.has_vxlan());
  EXPECT_NE(egress.text(), "");
  kernel_can(100);  // no answer
  const int before = trials();
  ASSERT_TRUE(until([&] { return trials() > before + 3; }));
  EXPECT_TRUE(egress.has_vxlan());
  kernel_can(containers::kEgress);
  ASSERT_TRUE(until([&] { return !egress.has_vxlan(); }));
  EXPECT_NE(egress.text(), "");
  kernel_can(0);
  ASSERT_TRUE(until([&] { return egress.text().empty(); }));
  EXPECT_NE(egress.shortfall(), "");
}

// The machine may forward nothing: one of them may be this machine.
TEST_F(ContainerEgressTest, EveryControllerHasARoute) {
  kernel_can(containers::kVxlans + containers::kEgress);
  options_.controllers = {{"10.0.0.9", 7717}, {"10.0.0.10", 7717}};
  const ContainerEgress egress(loop_, options_);
  EXPECT_EQ(egress.controller_url(), "");
  for (const char* route : {"route 10.0.0.9/32\n", "route 10.0.0.10/32\n"}) {
    EXPECT_NE(egress.text().find(route), std::string::npos) << route;
  }
}

// A former life's tasks do not wait for a trial.
TEST_F(ContainerEgressTest, WhatWasFoundInThisBootHoldsUntilItIsTriedAgain) {
  kernel_can(containers::kVxlans + containers::kEgress);
  options_.again_when_well = std::chrono::hours(1);
  { const ContainerEgress former(loop_, options_); }
  ASSERT_EQ(trials(), 1);
  const ContainerEgress egress(loop_, options_);
  EXPECT_EQ(trials(), 1);
  EXPECT_TRUE(egress.has_vxlan());
  EXPECT_NE(egress.text(), "");
  ASSERT_TRUE(until([&] { return trials() == 2; }));
}

TEST_F(ContainerEgressTest, WhatWasFoundInAnotherBootIsNothing) {
  kernel_can(0);
  std::filesystem::create_directories(options_.directory);
  std::ofstream(options_.directory + "/can")
      << "another-boot " << containers::kVxlans + containers::kEgress << "\n";
  const ContainerEgress egress(loop_, options_);
  EXPECT_EQ(trials(), 1);
  EXPECT_FALSE(egress.has_vxlan());
}

TEST_F(ContainerEgressTest, OneTrialThatFailsTakesNothingAway) {
  kernel_can(containers::kVxlans + containers::kEgress);
  options_.again_when_well = std::chrono::milliseconds(1);
  options_.again = std::chrono::hours(1);  // to the trial after the one that failed
  options_.again_most = std::chrono::hours(1);
  const ContainerEgress egress(loop_, options_);
  kernel_can(0);
  const int before = trials();
  ASSERT_TRUE(until([&] { return trials() > before; }));
  ASSERT_FALSE(loop_.run_until([] { return false; }, std::chrono::milliseconds(50)));
  EXPECT_TRUE(egress.has_vxlan());
}

}  // namespace
}  // namespace dove::agent
