#include "agent/session/machine_id.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

class MachineId : public testing::Test {
 protected:
  MachineId() {
    std::string pattern = testing::TempDir() + "machine.XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~MachineId() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::string root_;
};

TEST_F(MachineId, TheHardwareComesFirstSinceDisksAreCopied) {
  EXPECT_EQ(machine_id(root_), "");
  write("/etc/machine-id", "6c8f0e2b1f5d4c0aa9d1f0b7c3e2a1d4");
  const std::string by_disk = machine_id(root_);
  EXPECT_EQ(by_disk.size(), 32u);
  EXPECT_EQ(by_disk.find("6c8f0e2b"), std::string::npos);
  write("/sys/class/dmi/id/product_uuid", "4c4c4544-0043-3510-8052-b4c04f4d3132");
  const std::string by_hardware = machine_id(root_);
  EXPECT_NE(by_hardware, by_disk);
  write("/etc/machine-id", "00000000000000000000000000000001");
  EXPECT_EQ(machine_id(root_), by_hardware);
}

TEST_F(MachineId, WhatTheMakerLeftUnsetSaysNothing) {
  write("/sys/class/dmi/id/product_uuid", "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(machine_id(root_), "");
  write("/sys/class/dmi/id/product_uuid", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF");
  EXPECT_EQ(machine_id(root_), "");
}

}  // namespace
}  // namespace dove::agent
