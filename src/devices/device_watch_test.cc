#include "devices/device_watch.h"

#include <gtest/gtest.h>

#include <future>

namespace dove::devices {
namespace {

class NoHost : public Host {
 public:
  Result<Inventory> inventory() override { return Inventory{}; }
  std::int32_t numa_of(const std::string&) const override { return -1; }
  std::string path(const std::string&, const std::string&) const override { return ""; }
};

// One device, which is gone from the third look on.
class FadingAccelerators : public Accelerators {
 public:
  Result<FoundDevices> find() override {
    FoundDevices found;
    if (++looks_ < 3)
      found.devices.push_back({Device{"gpu", "nvidia", "H200", "a", 1, 0}, "", false});
    return found;
  }
  std::vector<DeviceSample> sample() override { return {}; }
  Result<CutSlices> arrange(const std::string& uuid, const std::vector<SlicePlace>&) override {
    return CutSlices{{uuid, {}, "", -1}};
  }

 private:
  int looks_ = 0;
};

std::unique_ptr<Machine> fading() {
  std::vector<std::unique_ptr<Accelerators>> families;
  families.push_back(std::make_unique<FadingAccelerators>());
  return std::make_unique<Machine>(std::make_unique<NoHost>(), std::move(families), "", "");
}

TEST(DeviceWatch, TellsOfEachLook) {
  std::promise<void> lost;
  bool was_there = false;
  bool told = false;
  DeviceWatch watch(fading(), std::chrono::milliseconds(1), [](auto call) { call(); });
  watch.start([&](const Sighting& seen) {
    ASSERT_EQ(seen.inventory.devices.size(), 1u);
    const bool is_lost = seen.inventory.devices[0].kind == kLost;
    was_there = was_there || !is_lost;
    if (is_lost && !told) {
      told = true;
      lost.set_value();
    }
  });
  lost.get_future().wait();
  EXPECT_TRUE(was_there);
}

TEST(DeviceWatch, DoesWhatItIsAskedInBetween) {
  std::promise<std::string> name;
  std::promise<void> looked;
  bool told = false;
  DeviceWatch watch(fading(), std::chrono::hours(1), [](auto call) { call(); });
  watch.start([&](const Sighting&) {
    if (!std::exchange(told, true)) looked.set_value();
  });
  looked.get_future().wait();
  watch.arrange(0, {}, [&](Result<CutSlices> cut) { name.set_value(cut->front().name); });
  EXPECT_EQ(name.get_future().get(), "a");
}

}  // namespace
}  // namespace dove::devices
