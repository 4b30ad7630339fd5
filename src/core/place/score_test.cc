#include "core/place/score.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

NodeClass four_gpus() { return {0, 8000, 1000, 4}; }
TaskShape share(std::int32_t milli) { return {1000, 0, 1, milli}; }
TaskShape whole(std::int32_t devices) { return {1000, 0, devices, kWholeDevice_milli}; }

TEST(Score, WholeDevicesNeedDevicesThatNobodyShares) {
  FreeState node = all_free(four_gpus());
  EXPECT_TRUE(fits(node, whole(4)));
  allocate(node, share(500), 2);
  EXPECT_EQ(node.whole_devices(), 3);
  EXPECT_EQ(node.gpus_milli(), 3500);
  EXPECT_FALSE(fits(node, whole(4)));
}

TEST(Score, AShareGoesToTheDeviceThatItLeavesLeastOf) {
  FreeState node = all_free(four_gpus());
  EXPECT_EQ(tightest_device(node, share(300)), 0);
  allocate(node, share(500), 1);
  EXPECT_EQ(tightest_device(node, share(300)), 1);
  EXPECT_EQ(tightest_device(node, share(600)), 0);
}

TEST(Score, TheModelsOfATaskAreAMask) {
  TaskShape task = whole(1);
  task.models = 0b10;
  EXPECT_FALSE(fits(all_free(four_gpus()), task));
  NodeClass other = four_gpus();
  other.model = 1;
  EXPECT_TRUE(fits(all_free(other), task));
}

TEST(Score, KindsOfTasksAreBits) {
  EXPECT_EQ(kind_of({1000, 0, 0, 0}), 0u);
  EXPECT_NE(kind_of(share(100)), kind_of(whole(1)));
  EXPECT_NE(kind_of(whole(2)), kind_of(whole(1)));
  EXPECT_EQ(kind_of(share(100)), kind_of(share(900)));
}

}  // namespace
}  // namespace dove::core
