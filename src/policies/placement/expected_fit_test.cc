#include "policies/placement/expected_fit.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "policies/placement/copies.h"

namespace dove::policies {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

core::TaskShape asks(std::int64_t cpu_milli, std::int32_t devices, std::int32_t device_milli) {
  return {cpu_milli, kGiB, devices, device_milli, core::kAnyModel};
}

core::FreeState node_with(std::vector<std::int32_t> devices_milli, std::int64_t cpu_milli) {
  core::FreeState node =
      core::all_free({0, 96'000, 512 * kGiB, static_cast<std::int32_t>(devices_milli.size())});
  node.devices_milli = std::move(devices_milli);
  node.cpu_milli = cpu_milli;
  return node;
}

class ExpectedFitTest : public testing::Test {
 protected:
  ExpectedFitTest()
      : scorer_(ExpectedFit().prepare(mix_, std::vector<core::NodeClass>{{0, 96'000, 0, 8}})) {}

  std::int64_t value(const core::FreeState& node, const core::TaskShape& task) const {
    return scorer_->score(node, task).value;
  }

  const std::vector<core::MixEntry> mix_ = {{asks(12'000, 1, 1000), 50},
                                            {asks(8000, 1, 500), 30},
                                            {asks(4000, 1, 250), 10},
                                            {asks(90'000, 8, 1000), 5},
                                            {asks(10'000, 0, 0), 10}};
  std::unique_ptr<const core::Scorer> scorer_;
};

TEST(ExpectedFit, WholeDevicesAnywhereWithCpuEnoughNeedNoScores) {
  const auto scorer = [](const core::TaskShape& task, std::vector<core::NodeClass> classes) {
    return ExpectedFit().prepare(std::vector<core::MixEntry>{{task, 1}}, classes);
  };
  const core::NodeClass node{0, 96'000, 0, 8};
  const core::NodeClass plain{1, 96'000, 0, 0};
  EXPECT_EQ(scorer(asks(24'000, 2, 1000), {node, plain}), nullptr);
  EXPECT_NE(scorer(asks(24'001, 2, 1000), {node}), nullptr);
  EXPECT_NE(scorer(asks(1000, 1, 500), {node}), nullptr);
  core::TaskShape bound = asks(1000, 1, 1000);
  bound.models = 2;
  EXPECT_EQ(scorer(bound, {node}), nullptr) << "models do not count";
}

TEST(ExpectedFit, WhatTasksNameOfModelsDoesNotCount) {
  const std::vector<core::NodeClass> classes = {{0, 96'000, 0, 8}, {1, 96'000, 0, 8}};
  core::TaskShape bound = asks(90'000, 8, 1000);
  bound.models = 2;
  const auto scorer = ExpectedFit().prepare(
      std::vector<core::MixEntry>{{bound, 5}, {asks(90'000, 8, 1000), 1}, {asks(8000, 1, 500), 3}},
      classes);
  core::FreeState one = node_with(std::vector<std::int32_t>(8, 1000), 96'000);
  core::FreeState other = one;
  other.node_class.model = 1;
  EXPECT_EQ(scorer->score(one, asks(8000, 1, 500)).value,
            scorer->score(other, asks(8000, 1, 500)).value);
}

TEST_F(ExpectedFitTest, AShareIsNotSplitFromAWholeDeviceWhenAnotherHasRoom) {
  const core::FreeState node = node_with({1000, 500, 1000, 700}, 48'000);
  EXPECT_EQ(scorer_->score(node, asks(8000, 1, 500)).device, 1);
  EXPECT_GT(value(node, asks(8000, 1, 500)),
            value(node_with({1000, 1000}, 48'000), asks(8000, 1, 500)));
}

TEST_F(ExpectedFitTest, ARemainderThatHoldsAnotherShareIsBetter) {
  EXPECT_EQ(scorer_->score(node_with({740, 750}, 48'000), asks(8000, 1, 500)).device, 1);
}

TEST_F(ExpectedFitTest, AWholeNodeIsKeptForThoseThatNeedOne) {
  const std::vector<std::int32_t> whole(8, 1000);
  std::vector<std::int32_t> used = whole;
  used[0] = 0;
  EXPECT_GT(value(node_with(used, 84'000), asks(12'000, 1, 1000)),
            value(node_with(whole, 96'000), asks(12'000, 1, 1000)));
}

TEST_F(ExpectedFitTest, CpuIsTakenWhereDevicesDoNotNeedIt) {
  const core::TaskShape cpu_only = asks(10'000, 0, 0);
  EXPECT_GT(value(node_with({0, 0}, 30'000), cpu_only),
            value(node_with({1000, 1000}, 30'000), cpu_only));
  EXPECT_GT(value(node_with({1000, 1000}, 90'000), cpu_only),
            value(node_with({1000, 1000}, 30'000), cpu_only));
}

// Nothing of the mix says so: there are only tasks of one device.
TEST(ExpectedFit, OfEqualNodesOneInUseComesFirst) {
  const std::vector<core::MixEntry> mix = {{asks(25'000, 1, 1000), 1}};
  const std::vector<core::NodeClass> classes = {{0, 96'000, 0, 4}};
  const auto scorer = ExpectedFit().prepare(mix, classes);
  EXPECT_GT(scorer->score(node_with({0, 1000, 1000, 1000}, 60'000), mix[0].shape).value,
            scorer->score(node_with({1000, 1000, 1000, 1000}, 60'000), mix[0].shape).value);
}

// One task of fifty wants four devices: a fiftieth of a device is less than the error of so few.
TEST(ExpectedFit, WhatFewTasksSayIsATieUntilManySayIt) {
  // With so little CPU that scores matter.
  const std::vector<core::NodeClass> classes = {{0, 4000, 0, 8}};
  const core::FreeState last = node_with({0, 1000}, 48'000);
  const core::FreeState more = node_with({0, 1000, 1000, 1000, 1000, 1000}, 48'000);
  const auto lead = [&](std::int64_t times) {
    const std::vector<core::MixEntry> mix = {{asks(1000, 1, 1000), 49 * times},
                                             {asks(1000, 4, 1000), times}};
    const auto scorer = ExpectedFit().prepare(mix, classes);
    return scorer->score(last, mix[0].shape).value - scorer->score(more, mix[0].shape).value;
  };
  EXPECT_EQ(lead(1), 0);
  EXPECT_GT(lead(1000), 0);
}

// As many as there is room for, one by one.
std::int64_t taken_alone(core::FreeState node, const core::MixEntry& entry) {
  std::int64_t taken_milli = 0;
  node.memory_bytes = 4096 * kGiB;
  while (core::fits(node, entry.shape)) {
    core::allocate(
        node, entry.shape,
        entry.shape.is_share() ? core::tightest_device(node, entry.shape) : core::kAnyDevice);
    taken_milli += entry.shape.gpus_milli();
  }
  return taken_milli * entry.count;
}

TEST_F(ExpectedFitTest, CopiesAreWhatFitsOneByOne) {
  const Copies copies(mix_);
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int32_t> devices(1 + random.below(8));
    for (std::int32_t& milli : devices) milli = static_cast<std::int32_t>(random.below(21)) * 50;
    const auto cpu_milli = static_cast<std::int64_t>(random.below(97)) * 1000;
    const core::FreeState node = node_with(devices, cpu_milli);
    const core::TaskShape task = mix_[random.below(mix_.size())].shape;
    if (!core::fits(node, task)) continue;
    const std::int32_t device =
        task.is_share() ? core::tightest_device(node, task) : core::kAnyDevice;
    core::FreeState after = node;
    core::allocate(after, task, device);
    std::int64_t expected = 0;
    for (const core::MixEntry& it : mix_) {
      if (it.shape.devices > 0) expected += taken_alone(after, it);
    }
    ASSERT_EQ(copies.after(node, task, device), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace dove::policies
