#include "programs/machine_of.h"

#include <vector>

#include "devices/emulated/accelerators.h"
#include "devices/emulated/inventory_file.h"
#include "devices/hwloc/hwloc_host.h"
#include "devices/nvml/gpus.h"
#include "devices/rocm/gpus.h"

namespace dove::programs {
namespace {

using Families = std::vector<std::unique_ptr<devices::Accelerators>>;

Result<Inventory> emulated_inventory(const Settings& given) {
  if (given.has("inventory")) {
    return devices::emulated::InventoryFile(given.text("inventory", "")).inventory();
  }
  TRY_ASSIGN(const std::unique_ptr<devices::hwloc::HwlocHost> host,
             devices::hwloc::HwlocHost::make());
  TRY_ASSIGN(const Inventory real, host->inventory());
  std::int64_t real_cores = 0;
  for (const NumaNode& numa : real.numa) {
    real_cores += static_cast<std::int64_t>(numa.cores.size());
  }
  TRY_ASSIGN(const std::int64_t cores, given.integer("cores", real_cores, 1, 4096));
  TRY_ASSIGN(const std::int64_t gpus, given.integer("gpus", 0, 0, 1024));
  TRY_ASSIGN(const Inventory sized, devices::emulated::parse_inventory(
                                        "memory: " + given.text("memory", "16Gi"), "--memory"));
  return devices::emulated::uniform(static_cast<std::int32_t>(cores), sized.memory_bytes,
                                    static_cast<std::int32_t>(gpus),
                                    given.text("gpu-model", "H200"));
}

}  // namespace

bool is_emulated(const Settings& given) {
  return given.has("inventory") || given.has("cores") || given.has("gpus") || given.has("memory");
}

Result<std::unique_ptr<devices::Machine>> machine_of(const Settings& given,
                                                     const std::string& data_dir,
                                                     const std::string& boot_id) {
  Families families;
  if (is_emulated(given)) {
    TRY_ASSIGN(const Inventory inventory, emulated_inventory(given));
    families.push_back(std::make_unique<devices::emulated::EmulatedAccelerators>(inventory));
    return std::make_unique<devices::Machine>(
        std::make_unique<devices::emulated::EmulatedHost>(inventory), std::move(families), "", "");
  }
  TRY_ASSIGN(std::unique_ptr<devices::hwloc::HwlocHost> host, devices::hwloc::HwlocHost::make());
  families.push_back(
      std::make_unique<devices::nvml::Gpus>(given.text("nvml", "libnvidia-ml.so.1")));
  families.push_back(std::make_unique<devices::rocm::Gpus>());
  return std::make_unique<devices::Machine>(std::move(host), std::move(families),
                                            data_dir + "/devices", boot_id);
}

}  // namespace dove::programs
