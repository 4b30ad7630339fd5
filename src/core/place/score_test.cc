#include "core/place/score.h"

#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Score, SeveralSharesFitOnOneDeviceOrOnSeveral) {
  FreeState node = all_free(four_gpus());
  TaskShape shares = share(400);
  shares.devices = 8;
  EXPECT_TRUE(fits(node, shares));
  shares.devices = 9;
  EXPECT_FALSE(fits(node, shares));
  node.devices_milli = {399, 500, -500, 0};
  shares.devices = 1;
  EXPECT_TRUE(fits(node, shares));
  shares.devices = 2;
  EXPECT_FALSE(fits(node, shares)) << "rests of two devices are no share";
}

TEST(Score, TheModelsOfATaskAreAMask) {
  TaskShape task = whole(1);
  task.models = 0b10;
  EXPECT_FALSE(fits(all_free(four_gpus()), task));
  NodeClass other = four_gpus();
  other.model = 1;
  EXPECT_TRUE(fits(all_free(other), task));
}

// Four GPUs of 80 GiB, the first of them cut; places for three more 2g.20gb are two on it.
FreeState cut_node() {
  FreeState node = all_free(four_gpus());
  Device device;
  device.model = "H100";
  device.memory_bytes = std::int64_t{80} << 30;
  node.node_class.slice_table =
      static_cast<std::int32_t>(slice_table(device) - slice_tables().data());
  node.devices_milli[0] = 0;
  node.slots_taken = {0b11, 0, 0, 0};
  return node;
}

TaskShape slices(std::int32_t count, const char* profile = "2g.20gb") {
  TaskShape task;
  task.slices = count;
  task.slice = profile;
  return task;
}

TEST(Score, SlicesCutADeviceAnewWhereThoseThatAreCutHaveNoRoom) {
  const FreeState node = cut_node();
  EXPECT_EQ(cuts_anew(node, slices(2)), 0);
  EXPECT_EQ(cuts_anew(node, slices(3)), 1);
  EXPECT_EQ(cuts_anew(node, slices(2 + 3 * 3)), 3);
  EXPECT_FALSE(fits(node, slices(2 + 3 * 3 + 1)));
  EXPECT_FALSE(fits(node, slices(1, "1g.5gb"))) << "no profile of this model";
  EXPECT_FALSE(fits(all_free(four_gpus()), slices(1))) << "cannot be cut";
  FreeState shared = node;
  shared.devices_milli[1] = 900;
  EXPECT_FALSE(fits(shared, slices(2 + 3 * 3)));
}

class MostFree final : public Scorer {
 public:
  Score score(const FreeState& node, const TaskShape& task) const override {
    return {node.gpus_milli() - task.gpus_milli()};
  }
};

// Takes shares from the device that has most, and counts the whole ones that are left.
class WholeAfter final : public Scorer {
 public:
  Score score(const FreeState& node, const TaskShape& task) const override {
    const auto most = std::max_element(node.devices_milli.begin(), node.devices_milli.end());
    FreeState after = node;
    const auto device = static_cast<std::int32_t>(most - node.devices_milli.begin());
    allocate(after, task, device);
    return {after.whole_devices() + after.cpu_milli, device};
  }
};

TEST(Score, SeveralSharesScoreOneAfterTheOther) {
  const WholeAfter scorer;
  FreeState node = all_free(four_gpus());
  node.devices_milli = {300, 1000, 900, 1000};
  TaskShape shares = share(500);
  shares.devices = 3;
  shares.cpu_milli = 1001;  // 335, 333, 333
  const Score score = score_of_shares(scorer, node, shares);
  EXPECT_EQ(score.device, 1) << "the first one's";
  EXPECT_EQ(score.value, (1 + 7665) + (0 + 7332) + (0 + 6999));
  const MostFree indifferent;
  EXPECT_EQ(score_of_shares(indifferent, node, shares).device, 2) << "the tightest";
}

TEST(Score, SeveralSharesOfGreatScoresDoNotWrapAround) {
  class Great final : public Scorer {
   public:
    Score score(const FreeState&, const TaskShape&) const override {
      return {std::int64_t{1} << 61};
    }
  };
  TaskShape shares = share(100);
  shares.devices = 16;
  EXPECT_EQ(score_of_shares(Great(), all_free(four_gpus()), shares).value, std::int64_t{1} << 62);
}

TEST(Score, SlicesCostTheDevicesThatTheyCutAnew) {
  const MostFree scorer;
  const FreeState cut = cut_node();
  FreeState idle = cut;
  idle.slots_taken.clear();
  idle.devices_milli[0] = kWholeDevice_milli;
  const auto value = [&](const FreeState& node, std::int32_t count) {
    return score_of_slices(scorer, node, slices(count)).value;
  };
  EXPECT_GT(value(cut, 2), value(idle, 2)) << "though more is free there";
  EXPECT_GT(value(idle, 3), value(cut, 3)) << "one device here and there";
  EXPECT_GT(value(idle, 3), value(idle, 4));
}

TEST(Score, KindsOfTasksAreBits) {
  EXPECT_EQ(kind_of({1000, 0, 0, 0}), 0u);
  EXPECT_NE(kind_of(share(100)), kind_of(whole(1)));
  EXPECT_NE(kind_of(whole(2)), kind_of(whole(1)));
  EXPECT_EQ(kind_of(share(100)), kind_of(share(900)));
}

}  // namespace
}  // namespace dove::core
