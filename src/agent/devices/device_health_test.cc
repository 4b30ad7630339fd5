#include "agent/devices/device_health.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using devices::Field;

constexpr std::int64_t kLook_us = 10'000'000;

class DeviceHealthTest : public testing::Test {
 protected:
  DeviceHealthTest() {
    char path[] = "/tmp/device_health_XXXXXX";
    root_ = ::mkdtemp(path);
    seen_.inventory.devices.resize(2);
    seen_.samples.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
      seen_.inventory.devices[i].uuid = seen_.samples[i].uuid = "gpu" + std::to_string(i);
    }
    seen_.samples[0].pci_bus_id = "0000:18:00.0";
  }
  ~DeviceHealthTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void says(std::size_t device, Field field, double value) {
    std::erase_if(seen_.samples[device].values,
                  [&](const auto& one) { return one.first == field; });
    seen_.samples[device].values.emplace_back(field, value);
  }
  // "check device severity" of each finding.
  std::vector<std::string> look() {
    std::vector<std::string> told;
    findings_ = health().look(seen_, now_us_ += kLook_us);
    for (const Finding& finding : findings_) {
      told.push_back(finding.check + " " + std::to_string(finding.device) + " " +
                     std::to_string(static_cast<int>(finding.severity)));
    }
    return told;
  }
  DeviceHealth& health() {
    if (!health_)
      health_ = std::make_unique<DeviceHealth>(root_.string(), (root_ / "open").string());
    return *health_;
  }

  using Told = std::vector<std::string>;
  fs::path root_;
  devices::Sighting seen_;
  std::int64_t now_us_ = 0;
  std::vector<Finding> findings_;
  std::unique_ptr<DeviceHealth> health_;
};

TEST_F(DeviceHealthTest, MemoryErrorsCloseTheDeviceUntilItIsReset) {
  says(1, Field::kEccDoubleVolatile, 0);
  EXPECT_EQ(look(), Told{}) << "what is well is not told";
  says(1, Field::kEccDoubleVolatile, 3);
  says(1, Field::kRemapPending, 1);
  EXPECT_EQ(look(), (Told{"memory_errors 1 2", "row_remap_pending 1 1"}));
  EXPECT_EQ(findings_[0].remedy, Remedy::kReset);
  EXPECT_TRUE(findings_[0].evidence.starts_with("3 memory errors"));
  says(1, Field::kEccDoubleVolatile, 4);
  EXPECT_EQ(look(), Told{}) << "the verdict is the same";
  says(1, Field::kEccDoubleVolatile, 0);
  says(1, Field::kRemapPending, 0);
  EXPECT_EQ(look(), (Told{"memory_errors 1 0", "row_remap_pending 1 0"}));
}

TEST_F(DeviceHealthTest, HeatAndPowerCountByThePartOfTheTime) {
  says(0, Field::kThermalViolation, 7e12);
  says(0, Field::kPowerViolation, 0);
  says(0, Field::kTemperature, 93);
  EXPECT_EQ(look(), Told{}) << "what was before the first look";
  says(0, Field::kThermalViolation, 7e12 + 2e9);
  says(0, Field::kPowerViolation, 9e9);
  EXPECT_EQ(look(), (Told{"thermal 0 1", "power 0 1"}));
  EXPECT_EQ(findings_[0].evidence, "slowed down by its temperature for 20 % of the time, at 93 °C");
  says(0, Field::kThermalViolation, 7e12 + 10e9);
  says(0, Field::kPowerViolation, 18e9);
  EXPECT_EQ(look(), (Told{"thermal 0 2"})) << "a power limit is no fault, however long";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(look(), Told{}) << "it may come again";
  EXPECT_EQ(look(), (Told{"thermal 0 0", "power 0 0"}));
}

TEST_F(DeviceHealthTest, LanesAreThoseThatBothEndsHave) {
  fs::create_directories(root_ / "devices/bridge/0000:18:00.0");
  fs::create_directories(root_ / "bus/pci/devices");
  fs::create_directory_symlink("../../../devices/bridge/0000:18:00.0",
                               root_ / "bus/pci/devices/0000:18:00.0");
  const std::string device = "bus/pci/devices/0000:18:00.0/";
  write("devices/bridge/max_link_width", "8");
  write(device + "max_link_width", "16");
  write(device + "current_link_width", "8");
  EXPECT_EQ(look(), Told{}) << "its slot has 8";
  write("devices/bridge/max_link_width", "16");
  EXPECT_EQ(look(), (Told{"pcie_width 0 2"}));
  EXPECT_EQ(findings_[0].evidence, "8 of 16 PCIe lanes are in use");
  write(device + "current_link_width", "16");
  EXPECT_EQ(look(), (Told{"pcie_width 0 0"}));
}

TEST_F(DeviceHealthTest, FewerLinksThanThereWereAreAFaultUnlessADeviceIsLost) {
  seen_.inventory.links = {{0, 1, "NV18"}};
  EXPECT_EQ(look(), Told{});
  seen_.inventory.links = {{0, 1, "NV17"}};
  EXPECT_EQ(look(), (Told{"nvlink 0 2", "nvlink 1 2"}));
  EXPECT_EQ(findings_[0].evidence, "17 of 18 NVLinks to the other devices are up");
  seen_.inventory.links = {{0, 1, "NV18"}};
  EXPECT_EQ(look(), (Told{"nvlink 0 0", "nvlink 1 0"}));
  seen_.inventory.links = {{0, 1, "SYS"}};
  seen_.inventory.devices[1].kind = devices::kLost;
  EXPECT_EQ(look(), Told{});
}

TEST_F(DeviceHealthTest, APortThatWasActiveIsMissedAndOneThatNeverWasIsNot) {
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  write(port + "state", "1: DOWN");
  write(port + "phys_state", "2: Polling");
  write(port + "link_layer", "InfiniBand");
  EXPECT_EQ(look(), Told{});
  write(port + "state", "4: ACTIVE");
  EXPECT_EQ(look(), Told{});
  write(port + "state", "1: DOWN");
  EXPECT_EQ(look(), (Told{"port:mlx5_0/1 -1 2"}));
  EXPECT_EQ(findings_[0].evidence,
            "InfiniBand port mlx5_0/1 was active and is now '1: DOWN', its link '2: Polling'");
  health_.reset();  // the agent is restarted meanwhile
  EXPECT_EQ(look(), Told{});
  write(port + "state", "4: ACTIVE");
  EXPECT_EQ(look(), (Told{"port:mlx5_0/1 -1 0"}));
}

TEST_F(DeviceHealthTest, ErrorsOfAPortCountWhenTheyGrow) {
  const std::string port = "class/infiniband/rocep1/ports/1/";
  write(port + "state", "4: ACTIVE");
  write(port + "link_layer", "Ethernet");
  write(port + "counters/symbol_error", "4000");
  write(port + "hw_counters/packet_seq_err", "10");
  EXPECT_EQ(look(), Told{});
  write(port + "counters/symbol_error", "4010");
  EXPECT_EQ(look(), Told{});
  write(port + "counters/symbol_error", "4100");
  write(port + "hw_counters/packet_seq_err", "5000");
  EXPECT_EQ(look(), (Told{"port_errors:rocep1/1 -1 1"}));
  EXPECT_EQ(findings_[0].evidence,
            "RoCE port rocep1/1: symbol_error grew by 90, packet_seq_err grew by 4990");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(look(), Told{});
  EXPECT_EQ(look(), (Told{"port_errors:rocep1/1 -1 0"}));
}

}  // namespace
}  // namespace dove::agent
