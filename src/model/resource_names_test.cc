#include "model/resource_names.h"

#include <gtest/gtest.h>

namespace dove {
namespace {

TEST(SliceName, IsReadAsSlurmAndKubernetesWriteThem) {
  EXPECT_EQ(slice_name("1g.10gb"), "1g.10gb");
  EXPECT_EQ(slice_name("MIG-1G.10GB"), "1g.10gb");
  EXPECT_EQ(slice_name("nvidia.com/mig-7g.141gb"), "7g.141gb");
  EXPECT_EQ(slice_name("1g.5gb+me"), "1g.5gb+me");
  for (const char* wrong : {"", "1g", "1g.gb", "g.5gb", "1g.5gbx", "h200", "mig-", "1.5gb"}) {
    EXPECT_EQ(slice_name(wrong), std::nullopt) << wrong;
  }
}

TEST(LicenceName, IsACountableOfTheCluster) {
  EXPECT_EQ(licence_name("matlab"), "licence:matlab");
  EXPECT_EQ(licence_name("Ansys HPC+"), "licence:ansys-hpc-");
  EXPECT_EQ(licence_name(""), "licence:");
}

}  // namespace
}  // namespace dove
