#include "files/kept_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::files {
namespace {

TEST(KeptTimeTest, GoesOnWithinABoot) {
  std::string folder = testing::TempDir() + "kept.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const KeptTime first(folder, "boot-1");
  EXPECT_EQ(first.now_us(100), 0) << "nothing was kept";
  first.keep(5'000'000, 100, true);
  EXPECT_TRUE(KeptTime(folder, "boot-1").accepted(160));
  EXPECT_FALSE(KeptTime(folder, "boot-2").accepted(160));
  first.keep(5'000'000, 100, false);
  EXPECT_FALSE(first.accepted(160));
  EXPECT_EQ(KeptTime(folder, "boot-1").now_us(160), 5'000'060);
  EXPECT_EQ(KeptTime(folder, "boot-1").now_us(90), 0) << "a steady clock does not go back";
  EXPECT_EQ(KeptTime(folder, "boot-2").now_us(160), 0) << "nobody knows how long it was off";
  EXPECT_EQ(KeptTime(folder, "boot-2").before_boot_us(), 5'000'000);
  EXPECT_EQ(KeptTime(folder, "boot-1").before_boot_us(), 0);
  std::ofstream(folder + "/clock") << "boot-1 5000000 100";
  EXPECT_EQ(first.now_us(160), 5'000'060) << "as a former version wrote it";
  std::ofstream(folder + "/clock") << "boot-1 5000000 100 accepted";
  EXPECT_TRUE(first.accepted(160)) << "and a later one";
  EXPECT_EQ(first.doubted_us(160), 0);
  first.keep(5'000'000, 100, false, 4'000'000);
  EXPECT_EQ(first.doubted_us(160), 4'000'000);
  EXPECT_EQ(KeptTime(folder, "boot-2").doubted_us(160), 0);
  std::ofstream(folder + "/clock") << "boot-1 x";
  EXPECT_EQ(first.now_us(160), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::files
