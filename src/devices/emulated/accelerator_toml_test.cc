#include "devices/emulated/accelerator_toml.h"

#include <gtest/gtest.h>

namespace dove::devices::emulated {
namespace {

TEST(AcceleratorToml, ReadsDevicesAndJoinsTheirParts) {
  const auto devices = parse_accelerator_toml(R"(
# a comment
slot_name = "cuda"
devices = [
  { mother_uuid = "a1", model_name = "CUDA GPU", numa_node = 1, subproc_count = 108, memory_size = "40G", is_mig_device = false },
  { mother_uuid = "a2", model_name = "MIG-20g", numa_node = 0, memory_size = "20G", is_mig_device = true },
  { mother_uuid = "a2", model_name = "MIG-10g", numa_node = 0, memory_size = "10g", is_mig_device = true },
]
[attributes]
nvidia_driver = "450.0.0"
[formats."*-mig"]
number_format = { binary = false, round_length = 0 }
)",
                                              "mock.toml");
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[0].model, "CUDA GPU");
  EXPECT_EQ((*devices)[0].vendor, "nvidia");
  EXPECT_EQ((*devices)[0].numa_node, 1);
  EXPECT_EQ((*devices)[1].memory_bytes, std::int64_t{30} << 30);
}

TEST(AcceleratorToml, OtherFamiliesKeepTheirNames) {
  const auto amd = parse_accelerator_toml(
      "slot_name = \"rocm\"\ndevices = [{ mother_uuid = \"a\" }]\n", "mock.toml");
  ASSERT_TRUE(amd.ok());
  EXPECT_EQ((*amd)[0].vendor, "amd");
  const auto other = parse_accelerator_toml(
      "slot_name = \"atom\"\ndevices = [{ mother_uuid = \"a\" }]\n", "mock.toml");
  EXPECT_EQ((*other)[0].vendor, "atom");
}

TEST(AcceleratorToml, NamesTheLineOfAMistake) {
  const auto wrong =
      parse_accelerator_toml("slot_name = \"cuda\"\ndevices = [ oops ]\n", "mock.toml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().field, "mock.toml:2");
  for (const char* text :
       {"devices = [{ model_name = \"x\" }]", "a = 1\na = 2", "a = \"x", "[section", "a = [1 2]",
        "a", "devices = [{ mother_uuid = \"a\", memory_size = \"much\" }]",
        "devices = [{ mother_uuid = \"a\" }, { mother_uuid = \"a\" }]"}) {
    EXPECT_FALSE(parse_accelerator_toml(text, "mock.toml").ok()) << text;
  }
  EXPECT_FALSE(parse_accelerator_toml("a = " + std::string(40, '['), "mock.toml").ok());
}

}  // namespace
}  // namespace dove::devices::emulated
