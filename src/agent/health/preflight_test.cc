#include "agent/health/preflight.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

class PreflightTest : public testing::Test {
 protected:
  PreflightTest() : folder_(fs::temp_directory_path() / "dove-preflight-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    inventory_.devices.resize(2);
    inventory_.devices[0].kind = inventory_.devices[1].kind = "gpu";
    order_.key = {JobId(7), 1};
    order_.placement.devices = {{0, kWholeDevice_milli, {}}, {1, kWholeDevice_milli, {}}};
    options_.limit = std::chrono::milliseconds(5000);
  }
  ~PreflightTest() override { fs::remove_all(folder_); }

  void program(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" << text << "\n";
    chmod((folder_ + "/" + name).c_str(), 0755);
    options_.programs_directory = folder_;
  }

  // "" : passed; else the failure.
  std::string run() {
    PreflightContext context;
    context.node = "n1";
    context.inventory = &inventory_;
    context.busy = busy_;
    context.aside = aside_;
    std::optional<std::string> said;
    std::unique_ptr<Preflight> preflight = std::make_unique<Preflight>(
        loop_, options_, std::move(context), order_,
        [&](const std::optional<PreflightFailure>& failure) {
          said = failure ? failure->check + ": " + failure->evidence : "";
          preflight.reset();
        });
    EXPECT_TRUE(loop_.run_until([&] { return said.has_value(); }, std::chrono::seconds(20)));
    return said.value_or("it did not end");
  }

  wire::Loop loop_;
  std::string folder_;
  Inventory inventory_;
  LaunchOrder order_;
  PreflightOptions options_;
  std::function<std::string(const Placement&)> busy_;
  Aside aside_;
};

TEST_F(PreflightTest, PassesWhereAllIsWell) {
  program("gpu", "[ \"$1\" = n1 ] && [ \"$2\" = 0,1 ]");
  EXPECT_EQ(run(), "");
}

TEST_F(PreflightTest, ADirectoryOfProgramsThatDoesNotAnswerFails) {
  program("gpu", "exit 0");
  wire::Timer late;
  aside_ = [&](const std::string&, std::chrono::milliseconds limit, const std::function<void()>&,
               std::function<void(bool)> done) {
    EXPECT_EQ(limit, options_.limit);
    late = loop_.after(std::chrono::milliseconds(1), [done = std::move(done)] { done(false); });
  };
  EXPECT_EQ(run(), "programs: " + folder_ +
                       " has not answered within 5 s; look at its mount "
                       "(findmnt -T " +
                       folder_ + ")");
}

TEST_F(PreflightTest, ADeviceThatIsLostFails) {
  inventory_.devices[1].kind = "lost";
  EXPECT_EQ(run(), "devices: device 1 is not there");
}

// A driver numbers the devices that it sees, in its own order.
TEST_F(PreflightTest, TriesGpusByTheNamesOfTheirDriver) {
  inventory_.devices[0].uuid = "GPU-5fd4f087-86f3-7a43-b711-4771313afc50";
  inventory_.devices[1].uuid = "emulated-1";
  options_.probe = {"/bin/sh", "-c", "echo $*; exit 1", "probe"};
  EXPECT_EQ(run(), "probe: --cuda GPU-5fd4f087-86f3-7a43-b711-4771313afc50,1");
}

TEST_F(PreflightTest, MemoryThatIsNotThereFailsUnlessItIsEmulated) {
  order_.placement.memory_bytes = std::int64_t{1} << 60;
  EXPECT_EQ(run().find("memory: "), 0u);
  options_.checks_memory = false;
  EXPECT_EQ(run(), "");
}

TEST_F(PreflightTest, TheOperatorsProgramFailsItWithItsFirstLine) {
  program("a_good", "exit 0");
  program("b_bad", "echo ECC of gpu 1; exit 2");
  EXPECT_EQ(run(), "script:b_bad: ECC of gpu 1");
}

TEST_F(PreflightTest, WhatHangsIsEndedAtTheLimit) {
  options_.limit = std::chrono::milliseconds(300);
  program("slow", "sleep 60");
  EXPECT_EQ(run().find("script:slow: "), 0u);
}

TEST_F(PreflightTest, ADeviceMayBeBusyForAMoment) {
  int looks = 0;
  busy_ = [&](const Placement&) { return ++looks > 2 ? "" : "device 0 is not idle"; };
  EXPECT_EQ(run(), "");
  EXPECT_EQ(looks, 3);
  options_.limit = std::chrono::milliseconds(100);
  looks = -1'000'000;
  EXPECT_EQ(run(), "devices: device 0 is not idle");
}

}  // namespace
}  // namespace dove::agent
