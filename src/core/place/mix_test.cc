#include "core/place/mix.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

TaskShape task(std::int64_t cpu_milli, std::int64_t memory_bytes) {
  TaskShape shape;
  shape.cpu_milli = cpu_milli;
  shape.memory_bytes = memory_bytes;
  return shape;
}

TEST(Mix, KeepsTheCommonestAndForgetsTheRare) {
  Mix mix;
  for (int i = 0; i < 60; ++i) mix.add(task(1000, i));
  for (int i = 0; i < 15; ++i) mix.add(task(2000, 0));
  for (int i = 0; i < 15; ++i) mix.add(task(3000, 0));
  for (int i = 0; i < 10; ++i) mix.add(task(4000 + i, 0));
  const std::vector<MixEntry> typical = mix.typical();
  ASSERT_EQ(typical.size(), 3u);
  EXPECT_EQ(typical[0].shape, task(1000, 0));
  EXPECT_EQ(typical[0].count, 60);
  EXPECT_EQ(typical[1].shape, task(3000, 0));
  EXPECT_EQ(typical[2].shape, task(2000, 0));
}

TEST(Mix, SaysWhenAsManyHaveArrivedAsBefore) {
  Mix mix;
  EXPECT_FALSE(mix.has_doubled());
  std::vector<int> at;
  for (int i = 1; i <= 20; ++i) {
    mix.add(task(1, 0));
    if (mix.has_doubled()) at.push_back(i);
  }
  EXPECT_EQ(at, (std::vector<int>{1, 2, 4, 8, 16}));
}

}  // namespace
}  // namespace dove::core
