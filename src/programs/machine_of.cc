#include "programs/machine_of.h"

#include <vector>

#include "devices/emulated/accelerator_toml.h"
#include "devices/emulated/accelerators.h"
#include "devices/emulated/inventory_file.h"
#include "devices/hwloc/hwloc_host.h"
#include "devices/nvml/gpus.h"
#include "devices/rocm/gpus.h"
#include "model/huge_pages.h"

namespace dove::programs {
namespace {

using Families = std::vector<std::unique_ptr<devices::Accelerators>>;

Result<Inventory> real_host() {
  TRY_ASSIGN(const std::unique_ptr<devices::hwloc::HwlocHost> host,
             devices::hwloc::HwlocHost::make());
  return host->inventory();
}

// The cores and memory of this machine, with the devices of the file.
Result<Inventory> with_devices_of(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_small_file(path));
  TRY_ASSIGN(Inventory inventory, real_host());
  TRY_ASSIGN(inventory.devices, devices::emulated::parse_accelerator_toml(text, path));
  for (Device& device : inventory.devices) {
    if (device.numa_node >= static_cast<std::int32_t>(inventory.numa.size())) device.numa_node = 0;
  }
  return inventory;
}

Result<Inventory> emulated_inventory(const Settings& given) {
  if (given.has("inventory")) {
    const std::string path = given.text("inventory", "");
    if (path.ends_with(".toml")) return with_devices_of(path);
    return devices::emulated::InventoryFile(path).inventory();
  }
  TRY_ASSIGN(const Inventory real, real_host());
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

Result<devices::DeviceFiles> emulated_files(const Settings& given) {
  const std::string path = given.text("inventory", "");
  if (path.empty() || path.ends_with(".toml")) return devices::DeviceFiles{};
  TRY_ASSIGN(const std::string text, read_small_file(path));
  return devices::emulated::parse_device_files(text);
}

// "hugepages-2Mi=64Mi,hugepages-1Gi=1Gi"
Result<std::vector<Countable>> huge_pages_kept(const Settings& given) {
  std::string text = given.text("huge-pages-kept", "");
  for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=')) {
    text.replace(at, 1, ": ");
  }
  TRY_ASSIGN(const Inventory read,
             devices::emulated::parse_inventory("countables: {" + text + "}", "--huge-pages-kept"));
  for (const Countable& one : read.countables) {
    if (huge_page_bytes(one.name) > 0) continue;
    return Error{ErrorKind::kInvalid, "bad_setting",
                 "--huge-pages-kept: '" + one.name +
                     "' is no size of huge pages; write hugepages-2Mi=64Mi,hugepages-1Gi=1Gi",
                 "--huge-pages-kept"};
  }
  return read.countables;
}

}  // namespace

bool is_emulated(const Settings& given) {
  return given.has("inventory") || given.has("cores") || given.has("gpus") || given.has("memory");
}

Result<std::unique_ptr<devices::Machine>> machine_of(
    const Settings& given, const std::string& data_dir, const std::string& boot_id,
    std::unique_ptr<devices::Accelerators> plugged) {
  Families families;
  if (is_emulated(given)) {
    if (given.has("huge-pages-kept")) {
      return Error{ErrorKind::kInvalid, "bad_setting",
                   "--huge-pages-kept is of a machine's own pages, this one is emulated; its file "
                   "(--inventory) says how many there are for tasks",
                   "--huge-pages-kept"};
    }
    TRY_ASSIGN(const Inventory inventory, emulated_inventory(given));
    TRY_ASSIGN(const devices::DeviceFiles files, emulated_files(given));
    families.push_back(std::make_unique<devices::emulated::EmulatedAccelerators>(inventory, files));
    // Plug-ins register in any order, and their devices are to have the ids that they had.
    const std::string ids = plugged == nullptr ? "" : data_dir + "/devices";
    if (plugged != nullptr) families.push_back(std::move(plugged));
    return std::make_unique<devices::Machine>(
        std::make_unique<devices::emulated::EmulatedHost>(inventory), std::move(families), ids,
        boot_id);
  }
  TRY_ASSIGN(std::vector<Countable> kept, huge_pages_kept(given));
  TRY_ASSIGN(std::unique_ptr<devices::hwloc::HwlocHost> host, devices::hwloc::HwlocHost::make());
  families.push_back(
      std::make_unique<devices::nvml::Gpus>(given.text("nvml", "libnvidia-ml.so.1")));
  families.push_back(std::make_unique<devices::rocm::Gpus>());
  if (plugged != nullptr) families.push_back(std::move(plugged));
  auto machine = std::make_unique<devices::Machine>(std::move(host), std::move(families),
                                                    data_dir + "/devices", boot_id);
  machine->look_for_huge_pages(given.text("sys", "/sys"), std::move(kept));
  return machine;
}

}  // namespace dove::programs
