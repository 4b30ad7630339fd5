#include "devices/rocm/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::devices::rocm {
namespace {

namespace fs = std::filesystem;

// A sysfs with what amdgpu and amdkfd write for two MI250X beside a CPU.
class RocmTest : public testing::Test {
 protected:
  RocmTest() {
    char path[] = "/tmp/rocm_sys_XXXXXX";
    sys_ = mkdtemp(path);
    write("class/kfd/kfd/topology/nodes/0/gpu_id", "0");
    write("class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\n");
    add_gpu(1, 0xc1, 12'345'678'901'234'567'890u);
    add_gpu(2, 0xc6, 77);
    write("class/kfd/kfd/topology/nodes/1/io_links/0/properties",
          "type 2\nnode_from 1\nnode_to 0\n");
    write("class/kfd/kfd/topology/nodes/1/io_links/1/properties",
          "type 11\nnode_from 1\nnode_to 2\n");
    write("class/kfd/kfd/topology/nodes/2/io_links/0/properties",
          "type 11\nnode_from 2\nnode_to 1\n");
    write("module/amdgpu/version", "6.7.0");
  }
  ~RocmTest() override { fs::remove_all(sys_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((sys_ / path).parent_path());
    std::ofstream(sys_ / path) << text << '\n';
  }
  void add_gpu(int node, int bus, std::uint64_t unique_id) {
    const std::string topology = "class/kfd/kfd/topology/nodes/" + std::to_string(node);
    write(topology + "/gpu_id", "4711");
    write(topology + "/name", "aldebaran");
    write(topology + "/properties", "simd_count 440\ndomain 0\nlocation_id " +
                                        std::to_string(bus << 8) + "\nunique_id " +
                                        std::to_string(unique_id) + "\n");
    const std::string device =
        bus == 0xc1 ? "bus/pci/devices/0000:c1:00.0" : "bus/pci/devices/0000:c6:00.0";
    write(device + "/mem_info_vram_total", "68702699520");
    write(device + "/mem_info_vram_used", "1073741824");
    write(device + "/gpu_busy_percent", "71");
    write(device + "/product_name", "AMD Instinct MI250X / MI250");
    write(device + "/pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *");
    write(device + "/hwmon/hwmon4/power1_average", "93000000");
    write(device + "/hwmon/hwmon4/temp1_label", "edge");
    write(device + "/hwmon/hwmon4/temp1_input", "40000");
    write(device + "/hwmon/hwmon4/temp2_label", "junction");
    write(device + "/hwmon/hwmon4/temp2_input", "45000");
    write(device + "/hwmon/hwmon4/temp3_label", "mem");
    write(device + "/hwmon/hwmon4/temp3_input", "51000");
    write(device + "/ras/umc_err_count", "ue: 1\nce: 4");
  }

  fs::path sys_;
};

TEST_F(RocmTest, FindsGpusAndTheirLinks) {
  Gpus gpus(sys_);
  const auto found = gpus.find();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->devices.size(), 2u);
  const Device& device = found->devices[0].device;
  EXPECT_EQ(device.vendor, "amd");
  EXPECT_EQ(device.model, "MI250X");
  EXPECT_EQ(device.uuid, "GPU-ab54a98ceb1f0ad2");
  EXPECT_EQ(device.memory_bytes, 68'702'699'520);
  EXPECT_EQ(found->devices[0].pci_bus_id, "0000:c1:00.0");
  ASSERT_EQ(found->links.size(), 1u);
  EXPECT_EQ(found->links[0].kind, "XGMI");
}

TEST_F(RocmTest, SamplesInTheUnitsOfTheFields) {
  Gpus gpus(sys_);
  ASSERT_TRUE(gpus.find().ok());
  const std::vector<DeviceSample> samples = gpus.sample();
  ASSERT_EQ(samples.size(), 2u);
  const auto value = [&](Field field) {
    const double* found = samples[0].find(field);
    return found == nullptr ? -1 : *found;
  };
  EXPECT_EQ(value(Field::kMemoryUsed), 1024);
  EXPECT_EQ(value(Field::kUtilization), 71);
  EXPECT_DOUBLE_EQ(value(Field::kPower), 93);
  EXPECT_DOUBLE_EQ(value(Field::kTemperature), 45);
  EXPECT_DOUBLE_EQ(value(Field::kMemoryTemperature), 51);
  EXPECT_EQ(value(Field::kSmClock), 1700);
  EXPECT_EQ(value(Field::kEccDoubleVolatile), 1);
  EXPECT_EQ(value(Field::kEccSingleVolatile), 4);
  EXPECT_EQ(samples[0].driver_version, "6.7.0");
}

TEST_F(RocmTest, OneThatGoesIsNotFoundAndWithoutADriverThereAreNone) {
  Gpus gpus(sys_);
  ASSERT_EQ(gpus.find()->devices.size(), 2u);
  fs::remove_all(sys_ / "bus/pci/devices/0000:c1:00.0");
  EXPECT_EQ(gpus.sample().size(), 1u);
  EXPECT_EQ(gpus.find()->devices.size(), 1u);
  Gpus none(sys_ / "nowhere");
  ASSERT_TRUE(none.find().ok());
  EXPECT_TRUE(none.find()->devices.empty());
}

TEST_F(RocmTest, IsNotCut) {
  Gpus gpus(sys_);
  ASSERT_TRUE(gpus.find().ok());
  EXPECT_TRUE(gpus.arrange("GPU-000000000000004d", {}).ok());
  EXPECT_FALSE(gpus.arrange("GPU-000000000000004d", {{0, 1, 1}}).ok());
}

}  // namespace
}  // namespace dove::devices::rocm
