#include "core/place/device_fit.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class DeviceFitTest : public testing::Test {
 protected:
  DeviceFitTest() { books.free_milli.assign(4, kWholeDevice_milli); }
  std::int32_t room(const Request& request) {
    return device_capacity({*inventory, books.free_milli, books.slots_taken, cores}, request, 100);
  }
  std::vector<DeviceGrant> taken(const Request& request) {
    std::vector<DeviceGrant> out;
    if (!allocate_devices(*inventory, books, {cores, 0}, request, FirstFit(), out)) out.clear();
    return out;
  }

  std::shared_ptr<const Inventory> inventory = inventory_of({.gpus = 4});
  CoreSet cores = {0, 1, 2, 3};
  DeviceBooks books;
};

TEST_F(DeviceFitTest, WholeDevicesAreCountedByTheirModelAndSize) {
  Request two;
  two.gpus = 2;
  EXPECT_EQ(room(two), 2);
  two.gpu_model = "h200";  // without case
  EXPECT_EQ(room(two), 2);
  two.gpu_memory_bytes = std::int64_t{141} << 30;  // larger than they are
  EXPECT_EQ(room(two), 0);
}

TEST_F(DeviceFitTest, AModelMayBeOneOfSeveral) {
  Device device;
  device.model = "H200";
  Request request;
  request.gpus = 1;
  request.gpu_model = "A100|H200";
  EXPECT_TRUE(matches(request, device));
  request.gpu_model = "A100|L4";
  EXPECT_FALSE(matches(request, device));
}

TEST_F(DeviceFitTest, ASharedDeviceIsNotOfferedWhole) {
  Request share;
  share.share_milli = 400;
  const auto first = taken(share);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].share_milli, 400);
  Request whole;
  whole.gpus = 1;
  EXPECT_EQ(room(whole), 3);
  EXPECT_EQ(room(share), 2 * 3 + 1);  // two on each whole one, one more beside the first
}

TEST_F(DeviceFitTest, WhatIsNotThereIsNotTaken) {
  Request five;
  five.gpus = 5;
  EXPECT_TRUE(taken(five).empty());
  EXPECT_EQ(books.free_milli[0], kWholeDevice_milli);
}

}  // namespace
}  // namespace dove::core
