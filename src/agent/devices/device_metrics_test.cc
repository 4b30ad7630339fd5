#include "agent/devices/device_metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace dove::agent {
namespace {

using devices::DeviceSample;
using devices::Field;

Inventory two_gpus() {
  Inventory inventory;
  inventory.devices = {Device{"gpu", "nvidia", "H100", "GPU-a", 1, 0},
                       Device{"gpu", "nvidia", "H100", "GPU-b", 1, 0}};
  return inventory;
}

std::vector<DeviceSample> samples() {
  DeviceSample a;
  a.uuid = "GPU-a";
  a.pci_bus_id = "0000:18:00.0";
  a.model = "NVIDIA H100 80GB HBM3";
  a.driver_version = "550";
  a.values = {{Field::kUtilization, 93}, {Field::kPower, 350.25}};
  DeviceSample b;
  b.uuid = "GPU-b";
  b.values = {{Field::kUtilization, 0}};
  return {a, b};
}

LaunchOrder holding(std::uint64_t job, std::vector<DeviceGrant> grants, int tasks) {
  LaunchOrder order;
  order.key = {JobId(job), 1};
  order.queue = "research.vision";
  order.project = "p1";
  order.user = "ada";
  order.name = "train";
  order.placement.devices = std::move(grants);
  for (int i = 0; i < tasks; ++i) {
    order.placement.tasks.emplace_back().rank = static_cast<Rank>(i);
  }
  return order;
}

std::string rendered(const std::vector<DeviceHolder>& holders) {
  telemetry::Exposition out;
  add_device_metrics("n1", two_gpus(), samples(), holders, out);
  return out.text();
}

TEST(DeviceMetrics, NameTheWorkThatHoldsADevice) {
  const std::string text = rendered(device_holders(holding(7, {{0, 1000, {}}}, 4), {}));
  EXPECT_NE(text.find("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-a\",pci_bus_id=\"0000:18:00.0\","
                      "device=\"gpu0\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"n1\","
                      "DCGM_FI_DRIVER_VERSION=\"550\",job=\"7\",task=\"0-3\","
                      "queue=\"research.vision\",project=\"p1\",user=\"ada\",share=\"1000\","
                      "slice=\"\",GPU_I_PROFILE=\"\",GPU_I_ID=\"\",namespace=\"p1\",pod=\"job-7\","
                      "container=\"train\",hpc_job=\"7\"} 93\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("job=\"\",task=\"\",queue=\"\",project=\"\",user=\"\",share=\"\",slice=\"\","
                      "GPU_I_PROFILE=\"\",GPU_I_ID=\"\",namespace=\"\",pod=\"\",container=\"\",hpc_"
                      "job=\"\"} 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("} 350.25\n"), std::string::npos);
  EXPECT_EQ(text.find("DCGM_FI_DEV_GPU_TEMP"), std::string::npos) << "nobody said it";
}

TEST(DeviceMetrics, ASharedDeviceHasASeriesForEachHolder) {
  const Slices slices{{{0, 2}, {"MIG-b", {}, "2g.20gb", 5}}};
  std::vector<DeviceHolder> holders = device_holders(holding(7, {{1, 500, {}}}, 1), {});
  for (const DeviceHolder& more : device_holders(holding(8, {{1, 250, {}}}, 1), {}))
    holders.push_back(more);
  for (const DeviceHolder& more :
       device_holders(holding(9, {{0, 125, {0, 1, 1}}, {0, 250, {2, 2, 2}}}, 1), slices)) {
    holders.push_back(more);
  }
  const std::string text = rendered(holders);
  EXPECT_NE(text.find("job=\"7\",task=\"0\",queue=\"research.vision\",project=\"p1\",user=\"ada\","
                      "share=\"500\""),
            std::string::npos);
  EXPECT_NE(text.find("job=\"8\""), std::string::npos);
  EXPECT_NE(text.find("share=\"250\",slice=\"2:2:2\",GPU_I_PROFILE=\"2g.20gb\",GPU_I_ID=\"5\","),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("job=\"\""), std::string::npos);
}

TEST(DeviceMetrics, ATaskIsNamedByTheDeviceThatItWasGiven) {
  LaunchOrder order = holding(7, {{0, 1000, {}}, {1, 1000, {}}}, 2);
  order.placement.tasks[0].devices = {{0, 1000, {}}};
  order.placement.tasks[1].devices = {{1, 1000, {}}};
  const std::vector<DeviceHolder> holders = device_holders(order, {});
  EXPECT_EQ(holders[0].task, "0");
  EXPECT_EQ(holders[1].task, "1");
}

TEST(DeviceMetrics, FieldsAreInTheirOrderAndUniquelyNamed) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const devices::FieldInfo& info : devices::field_infos()) {
    EXPECT_EQ(static_cast<std::size_t>(info.field), index++);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
}

}  // namespace
}  // namespace dove::agent
