#include "devices/model_name.h"

#include <gtest/gtest.h>

namespace dove::devices {
namespace {

TEST(ModelName, IsTheWordThatJobsAskFor) {
  EXPECT_EQ(short_model("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(short_model("NVIDIA A100-SXM4-40GB"), "A100");
  EXPECT_EQ(short_model("Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(short_model("NVIDIA GeForce RTX 4090"), "RTX4090");
  EXPECT_EQ(short_model("AMD Instinct MI250X / MI250"), "MI250X");
  EXPECT_EQ(short_model("H200"), "H200");
  EXPECT_EQ(short_model(""), "");
}

}  // namespace
}  // namespace dove::devices
