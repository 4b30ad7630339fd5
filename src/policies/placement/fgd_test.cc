#include "policies/placement/fgd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "policies/placement/fragmentation.h"

namespace dove::policies {
namespace {

core::TaskShape share(std::int32_t milli, std::int64_t cpu_milli) {
  return {cpu_milli, 0, 1, milli, core::kAnyModel};
}

core::TaskShape whole(std::int32_t devices, std::int64_t cpu_milli) {
  return {cpu_milli, 0, devices, devices > 0 ? kWholeDevice_milli : 0, core::kAnyModel};
}

std::vector<core::MixEntry> some_mix() {
  std::vector<core::MixEntry> mix = {{whole(0, 2000), 5},   {share(300, 1000), 7},
                                     {share(810, 4000), 3}, {whole(1, 8000), 11},
                                     {whole(4, 16'000), 2}, {whole(8, 64'000), 1}};
  mix[3].shape.models = 2;
  return mix;
}

std::vector<core::NodeClass> some_classes() {
  return {{0, 64'000, 0, 8}, {1, 96'000, 0, 8}, {2, 32'000, 0, 2}};
}

core::FreeState some_node(Random& random) {
  const auto classes = some_classes();
  core::FreeState node = core::all_free(classes[random.below(classes.size())]);
  node.cpu_milli = static_cast<std::int64_t>(random.below(80)) * 1000;
  for (std::int32_t& milli : node.devices_milli) {
    if (random.below(2) == 0) milli = static_cast<std::int32_t>(random.below(101)) * 10;
  }
  return node;
}

// By the definition, task by task.
std::int64_t fragmentation_of(const core::FreeState& node) {
  std::int64_t sum = 0;
  for (const core::MixEntry& it : some_mix()) {
    std::int64_t useless = node.gpus_milli();
    if (it.shape.devices > 0 && core::fits(node, it.shape)) {
      useless = 0;
      for (std::int32_t milli : node.devices_milli) {
        if (milli < it.shape.device_milli) useless += milli;
      }
    }
    sum += it.count * useless;
  }
  return sum;
}

TEST(Fragmentation, IsWhatTheDefinitionSays) {
  Random random(1);
  const auto mix = some_mix();
  const auto classes = some_classes();
  const Fragmentation fragmentation(mix, classes);
  EXPECT_EQ(fragmentation.weight(), 29);
  int placed = 0;
  for (int i = 0; i < 20'000; ++i) {
    const core::FreeState node = some_node(random);
    ASSERT_EQ(fragmentation.of(node), fragmentation_of(node));
    const core::TaskShape& task = mix[random.below(mix.size())].shape;
    if (!core::fits(node, task)) continue;
    const std::int32_t device =
        task.is_share() ? core::tightest_device(node, task) : core::kAnyDevice;
    core::FreeState after = node;
    core::allocate(after, task, device);
    ASSERT_EQ(fragmentation.after(node, task, device), fragmentation_of(after));
    ++placed;
  }
  EXPECT_GT(placed, 3000);
}

TEST(Fgd, ScoresAreTheTruncatedSigmoid) {
  Random random(2);
  const auto mix = some_mix();
  const auto classes = some_classes();
  const auto scorer = Fgd().prepare(mix, classes);
  std::int64_t least = 100;
  std::int64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const core::FreeState node = some_node(random);
    const core::TaskShape& task = mix[random.below(mix.size())].shape;
    if (!core::fits(node, task)) continue;
    const core::Score score = scorer->score(node, task);
    core::FreeState after = node;
    core::allocate(after, task, score.device);
    const auto saved = fragmentation_of(node) - fragmentation_of(after);
    const auto sigmoid = 1 / (1 + std::exp(-static_cast<long double>(saved) / 29 / 1000));
    ASSERT_EQ(score.value, static_cast<std::int64_t>(100 * sigmoid)) << saved;
    least = std::min(least, score.value);
    most = std::max(most, score.value);
  }
  EXPECT_LT(least, 30);
  EXPECT_GT(most, 60);
}

TEST(Fgd, AShareGoesToTheFirstOfTheBestDevices) {
  const std::vector<core::MixEntry> mix = {{whole(1, 1000), 1}, {share(500, 1000), 1}};
  const std::vector<core::NodeClass> classes = {{0, 8000, 0, 4}};
  const auto scorer = Fgd().prepare(mix, classes);
  core::FreeState node = core::all_free(classes[0]);
  node.devices_milli = {1000, 500, 500, 1000};
  EXPECT_EQ(scorer->score(node, share(500, 1000)).device, 1);
}

}  // namespace
}  // namespace dove::policies
