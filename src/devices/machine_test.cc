#include "devices/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dove::devices {
namespace {

// Two NUMA nodes; bus ids name the one they are on: "0-…", "1-…".
class SmallHost : public Host {
 public:
  Result<Inventory> inventory() override {
    Inventory found;
    found.numa = {{{0, 1}, 100}, {{2, 3}, 100}};
    found.memory_bytes = 200;
    return found;
  }
  std::int32_t numa_of(const std::string& bus_id) const override {
    return bus_id.empty() ? -1 : bus_id[0] - '0';
  }
  std::string path(const std::string& a, const std::string& b) const override {
    return a[0] == b[0] ? "PIX" : "SYS";
  }
};

// Says what the test tells it to.
class ToldAccelerators : public Accelerators {
 public:
  struct Told {
    FoundDevices found;
    bool driver_fails = false;
    std::vector<std::string> arranged;
  };
  explicit ToldAccelerators(Told& told) : told_(told) {}

  Result<FoundDevices> find() override {
    if (told_.driver_fails) return Error{ErrorKind::kUnavailable, "driver", "driver is gone", ""};
    return told_.found;
  }
  std::vector<DeviceSample> sample() override {
    std::vector<DeviceSample> samples;
    for (const FoundDevice& found : told_.found.devices) {
      samples.emplace_back().uuid = found.device.uuid;
    }
    return samples;
  }
  Result<CutSlices> arrange(const std::string& uuid,
                            const std::vector<SlicePlace>& places) override {
    told_.arranged.push_back(uuid);
    return CutSlices(places.size(), {"slice of " + uuid, {}, "", -1});
  }

 private:
  Told& told_;
};

FoundDevice found_device(const std::string& uuid, const std::string& bus_id) {
  return {Device{"gpu", "nvidia", "H200", uuid, 1000, -1}, bus_id, false};
}

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    char path[] = "/tmp/machine_ids_XXXXXX";
    close(mkstemp(path));
    ids_path_ = path;
    told_.found.devices = {found_device("a", "0-a"), found_device("b", "1-b"),
                           found_device("c", "1-c")};
  }
  ~MachineTest() override { std::filesystem::remove(ids_path_); }

  Machine machine(const std::string& boot_id) {
    std::vector<std::unique_ptr<Accelerators>> families;
    families.push_back(std::make_unique<ToldAccelerators>(told_));
    return Machine(std::make_unique<SmallHost>(), std::move(families), ids_path_, boot_id);
  }
  static std::string devices_of(Machine& machine) {
    std::string text;
    const auto inventory = machine.inventory();
    for (const Device& device : inventory->devices) {
      text += device.uuid + (device.kind == kLost ? "! " : " ");
    }
    return text;
  }

  ToldAccelerators::Told told_;
  std::string ids_path_;
};

TEST_F(MachineTest, JoinsDevicesToTheHost) {
  told_.found.links = {{"b", "c", "NV18"}};
  Machine all = machine("boot");
  const auto inventory = all.inventory();
  ASSERT_TRUE(inventory.ok());
  EXPECT_EQ(inventory->devices[0].numa_node, 0);
  EXPECT_EQ(inventory->devices[2].numa_node, 1);
  const std::vector<Link> expected = {{0, 1, "SYS"}, {0, 2, "SYS"}, {1, 2, "NV18"}};
  EXPECT_EQ(inventory->links, expected);
  EXPECT_EQ(inventory->memory_bytes, 200);
}

TEST_F(MachineTest, ALostDeviceKeepsItsIdAndTakesItAgain) {
  Machine all = machine("boot");
  EXPECT_EQ(devices_of(all), "a b c ");
  told_.found.devices.erase(told_.found.devices.begin());
  EXPECT_EQ(devices_of(all), "a! b c ");
  EXPECT_TRUE(all.inventory()->links.size() == 1);
  told_.found.devices.push_back(found_device("d", "0-d"));
  told_.found.devices.push_back(found_device("a", "0-a"));
  EXPECT_EQ(devices_of(all), "a b c d ");
}

TEST_F(MachineTest, ALostDriverLosesItsDevicesAndSaysWhy) {
  Machine all = machine("boot");
  EXPECT_EQ(devices_of(all), "a b c ");
  told_.driver_fails = true;
  EXPECT_EQ(devices_of(all), "a! b! c! ");
  ASSERT_EQ(all.driver_errors().size(), 1u);
  EXPECT_EQ(all.driver_errors()[0].message, "driver is gone");
  told_.driver_fails = false;
  EXPECT_EQ(devices_of(all), "a b c ");
  EXPECT_TRUE(all.driver_errors().empty());
}

TEST_F(MachineTest, IdsSurviveTheProcessButNotTheBoot) {
  {
    Machine all = machine("boot");
    EXPECT_EQ(devices_of(all), "a b c ");
  }
  told_.found.devices.erase(told_.found.devices.begin());
  Machine again = machine("boot");
  EXPECT_EQ(devices_of(again), "a! b c ");
  EXPECT_EQ(again.inventory()->devices[0].model, "H200");
  Machine rebooted = machine("another boot");
  EXPECT_EQ(devices_of(rebooted), "b c ");
}

TEST_F(MachineTest, FilesAreKnownByTheIdAndGoWithTheDevice) {
  for (FoundDevice& device : told_.found.devices) device.files = {"/dev/" + device.device.uuid};
  Machine all = machine("boot");
  ASSERT_TRUE(all.inventory().ok());
  EXPECT_EQ(all.files().at(1), (std::vector<std::string>{"/dev/b"}));
  told_.found.devices.erase(told_.found.devices.begin());
  ASSERT_TRUE(all.inventory().ok());
  EXPECT_TRUE(all.files().at(0).empty()) << "it is lost";
  EXPECT_EQ(all.files().at(1), (std::vector<std::string>{"/dev/b"}));
}

TEST_F(MachineTest, WhatTwoFamiliesTellOfIsOneDeviceAsTheFirstTellsIt) {
  ToldAccelerators::Told again;
  again.found.devices.push_back(found_device("b", ""));
  again.found.devices.push_back(found_device("d", ""));
  again.found.devices[0].device.model = "";
  std::vector<std::unique_ptr<Accelerators>> families;
  families.push_back(std::make_unique<ToldAccelerators>(told_));
  families.push_back(std::make_unique<ToldAccelerators>(again));
  Machine both(std::make_unique<SmallHost>(), std::move(families), "", "");
  EXPECT_EQ(devices_of(both), "a b c d ");
  EXPECT_EQ(both.inventory()->devices[1].model, told_.found.devices[1].device.model);
}

TEST_F(MachineTest, CutsThroughTheFamilyThatFoundTheDevice) {
  told_.found.devices[1].is_cut = true;
  Machine all = machine("boot");
  EXPECT_FALSE(all.arrange(1, {}).ok());  // nobody has looked yet
  EXPECT_EQ(devices_of(all), "a b c ");
  EXPECT_EQ(all.cut(), (std::vector<std::int32_t>{1}));
  const auto names = all.arrange(1, {{0, 1, 1}});
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->front().name, "slice of b");
  EXPECT_FALSE(all.arrange(3, {}).ok());
  EXPECT_FALSE(all.arrange(-1, {}).ok());
  EXPECT_EQ(told_.arranged, (std::vector<std::string>{"b"}));
}

}  // namespace
}  // namespace dove::devices
