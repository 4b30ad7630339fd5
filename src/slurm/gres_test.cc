#include "slurm/gres.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

using Texts = std::vector<std::string>;
using Indices = std::vector<int>;

TEST(Gres, TypesByIndexInTheOrderOfTheText) {
  EXPECT_EQ(*device_types("gpu:h200_0:1,gpu:h200_1:1"), (Texts{"h200_0", "h200_1"}));
  EXPECT_EQ(*device_types("gpu:a100:2(S:0-1),nic:4,gpu:h200:1(S:0,1)"),
            (Texts{"a100", "a100", "h200"}));
  EXPECT_EQ(*device_types("gpu:2"), (Texts{"", ""}));
  EXPECT_EQ(*device_types("gpu"), (Texts{""}));
  EXPECT_EQ(*device_types(""), Texts());
  EXPECT_EQ(*device_types("(null)"), Texts());
  EXPECT_EQ(*device_types("gres/gpu:h200:1"), (Texts{"h200"}));
}

TEST(Gres, MalformedOrTooMany) {
  for (const char* bad : {"gpu:a:b:1", "gpu:a:x", "gpu:a:1(S:0", "gpu:1025", "gpu:800,gpu:300"}) {
    EXPECT_FALSE(device_types(bad).ok()) << bad;
  }
}

TEST(Gres, IndicesOfAJob) {
  EXPECT_EQ(device_indices("gpu:h200_0:0(IDX:),gpu:h200_1:1(IDX:1),gpu:h200_3:1(IDX:3)"),
            (Indices{1, 3}));
  EXPECT_EQ(device_indices("gpu:4(IDX:0-2,7)"), (Indices{0, 1, 2, 7}));
  EXPECT_EQ(device_indices("nic:1(IDX:5)"), Indices());
  EXPECT_EQ(device_indices("gpu:h200_0:0(IDX:N/A)"), Indices());
  EXPECT_EQ(device_indices(""), Indices());
}

TEST(Gres, IndicesThatSlurmDoesNotSay) {
  for (const char* bad : {"gpu:2", "gpu:1(IDX:)", "gpu:1(IDX:x)", "gpu:1(IDX:3-1)", "gpu:1(S:0)",
                          "gpu:1(IDX:0-99999)"}) {
    EXPECT_FALSE(device_indices(bad).has_value()) << bad;
  }
}

TEST(Gres, RequestForExactlyTheseDevices) {
  const Texts apart = {"h_0", "h_1", "h_2"};
  EXPECT_EQ(*pinned_gres(apart, {2}), "gpu:h_2:1");
  EXPECT_EQ(*pinned_gres(apart, {2, 0}), "gpu:h_0:1,gpu:h_2:1");
  EXPECT_EQ(*pinned_gres(apart, {}), "");
  EXPECT_EQ(*pinned_gres({"", ""}, {0, 1}), "gpu:2");
  EXPECT_EQ(pinned_gres({"h", "h"}, {1}).error().code, "not_pinnable");
  EXPECT_EQ(pinned_gres(apart, {3}).error().code, "no_such_device");
}

TEST(Gres, DevicesThatAreBoundToSockets) {
  EXPECT_TRUE(binds_devices("gpu:a_0:1(S:0),gpu:a_1:1(S:1)"));
  EXPECT_FALSE(binds_devices("gpu:a_0:1,gpu:a_1:1"));
}

}  // namespace
}  // namespace dove::slurm
