#include "devices/emulated/accelerators.h"

#include <gtest/gtest.h>

#include "devices/emulated/inventory_file.h"

namespace dove::devices::emulated {
namespace {

EmulatedAccelerators of_model(const std::string& model) {
  return EmulatedAccelerators(uniform(8, std::int64_t{8} << 30, 2, model));
}

TEST(EmulatedAccelerators, CutsWhereTheHardwareAllows) {
  EmulatedAccelerators gpus = of_model("H200");
  const auto names = gpus.arrange("GPU-emulated-0", {{0, 4, 4}, {4, 4, 3}});
  ASSERT_TRUE(names.ok()) << names.error().message;
  EXPECT_EQ((*names)[1].name, "MIG-GPU-emulated-0/4/4");
  EXPECT_TRUE(gpus.find()->devices[0].is_cut);
  EXPECT_FALSE(gpus.find()->devices[1].is_cut);
  ASSERT_TRUE(gpus.arrange("GPU-emulated-0", {}).ok());
  EXPECT_FALSE(gpus.find()->devices[0].is_cut);
}

TEST(EmulatedAccelerators, RefusesWhatTheHardwareWould) {
  EmulatedAccelerators gpus = of_model("H200");
  EXPECT_FALSE(gpus.arrange("GPU-emulated-0", {{1, 2, 2}}).ok());             // no such start
  EXPECT_FALSE(gpus.arrange("GPU-emulated-0", {{4, 4, 4}}).ok());             // 4g lies at 0 only
  EXPECT_FALSE(gpus.arrange("GPU-emulated-0", {{0, 4, 3}, {2, 1, 1}}).ok());  // overlap
  EXPECT_FALSE(gpus.arrange("GPU-emulated-0", {{99, 1, 1}}).ok());
  EXPECT_FALSE(of_model("T4").arrange("GPU-emulated-0", {{0, 1, 1}}).ok());
  EXPECT_TRUE(of_model("T4").arrange("GPU-emulated-0", {}).ok());
}

TEST(EmulatedAccelerators, ShowTheInventoryTheyWereGiven) {
  Inventory given = uniform(8, std::int64_t{8} << 30, 2, "A100");
  given.links = {{0, 1, "NV12"}};
  EmulatedHost host(given);
  EmulatedAccelerators gpus(given);
  EXPECT_TRUE(host.inventory()->devices.empty());
  EXPECT_EQ(host.inventory()->numa.size(), 2u);
  EXPECT_EQ(gpus.find()->links[0].uuid_b, "GPU-emulated-1");
  EXPECT_EQ(*gpus.sample()[1].find(Field::kMemoryFree), 141 * 1024);
}

}  // namespace
}  // namespace dove::devices::emulated
