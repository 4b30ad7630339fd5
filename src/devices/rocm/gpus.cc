#include "devices/rocm/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "devices/model_name.h"

namespace dove::devices::rocm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kXgmi = 11;  // KFD's type of a link
constexpr double kMiB = 1024.0 * 1024.0;

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// Lines of a name and a number.
std::map<std::string, std::int64_t> properties_of(const fs::path& path) {
  std::map<std::string, std::int64_t> properties;
  std::ifstream file(path);
  std::string name;
  std::string value;
  while (file >> name >> value) {
    std::uint64_t number = 0;  // unique_id takes all 64 bits
    if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc()) {
      properties[name] = static_cast<std::int64_t>(number);
    }
  }
  return properties;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) found.push_back(entry.path());
  // By number: "10" after "9".
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const auto key = [](const fs::path& path) {
      const std::string name = path.filename().string();
      return std::make_pair(name.size(), name);
    };
    return key(a) < key(b);
  });
  return found;
}

// The clock in use of pp_dpm_sclk: "1: 1700Mhz *".
std::optional<double> clock_of(const fs::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || line.find('*') == std::string::npos) continue;
    if (const auto mhz = number_of(line.substr(colon + 2))) return static_cast<double>(*mhz);
  }
  return std::nullopt;
}

void add(DeviceSample& sample, Field field, const fs::path& path, double scale) {
  if (const auto value = number_of(line_of(path))) {
    sample.values.emplace_back(field, static_cast<double>(*value) * scale);
  }
}

// Temperatures have labels: "edge", "junction", "mem".
void add_sensors(DeviceSample& sample, const fs::path& folder) {
  for (const fs::path& monitor : entries(folder / "hwmon")) {
    add(sample, Field::kPower,
        monitor / (fs::exists(monitor / "power1_average") ? "power1_average" : "power1_input"),
        1e-6);
    for (const int i : {1, 2, 3}) {
      const std::string name = fmt::format("temp{}", i);
      const std::string label = line_of(monitor / (name + "_label"));
      if (label == "mem") {
        add(sample, Field::kMemoryTemperature, monitor / (name + "_input"), 0.001);
      } else if (label == "junction" ||
                 (label == "edge" && i == 1 && !fs::exists(monitor / "temp2_input"))) {
        add(sample, Field::kTemperature, monitor / (name + "_input"), 0.001);
      }
    }
  }
}

// "umc: ue: 1, ce: 4" of the ras folder, in two lines.
void add_ecc(DeviceSample& sample, const fs::path& folder) {
  std::ifstream file(folder / "ras" / "umc_err_count");
  std::string name;
  std::int64_t count = 0;
  while (file >> name >> count) {
    if (name == "ue:") sample.values.emplace_back(Field::kEccDoubleVolatile, count);
    if (name == "ce:") sample.values.emplace_back(Field::kEccSingleVolatile, count);
  }
}

// One for all GPUs, and those that the rendering manager has for this one: "drm/renderD128".
std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> files = {"/dev/kfd"};
  for (const fs::path& entry : entries(folder / "drm")) {
    const std::string name = entry.filename().string();
    if (name.starts_with("renderD") || name.starts_with("card"))
      files.push_back("/dev/dri/" + name);
  }
  return files;
}

}  // namespace

Gpus::Gpus(std::string sys) : sys_(std::move(sys)) {}

Gpus::Gpu Gpus::read_gpu(const std::string& node, const std::string& folder) const {
  const fs::path topology = fs::path(sys_) / "class/kfd/kfd/topology/nodes" / node;
  auto properties = properties_of(topology / "properties");
  Gpu gpu;
  gpu.node = node;
  gpu.pci_bus_id = fs::path(folder).filename().string();
  gpu.folder = folder;
  gpu.uuid = fmt::format("GPU-{:016x}", static_cast<std::uint64_t>(properties["unique_id"]));
  if (properties["unique_id"] == 0) gpu.uuid = "GPU-" + gpu.pci_bus_id;
  gpu.model = line_of(fs::path(folder) / "product_name");
  if (gpu.model.empty()) gpu.model = line_of(topology / "name");
  return gpu;
}

Result<FoundDevices> Gpus::find() {
  gpus_.clear();
  FoundDevices found;
  const fs::path nodes = fs::path(sys_) / "class/kfd/kfd/topology/nodes";
  for (const fs::path& node : entries(nodes)) {
    if (number_of(line_of(node / "gpu_id")).value_or(0) == 0) continue;  // a CPU
    auto properties = properties_of(node / "properties");
    const std::int64_t location = properties["location_id"];
    const std::string bus_id =
        fmt::format("{:04x}:{:02x}:{:02x}.{}", properties["domain"], location >> 8 & 0xff,
                    location >> 3 & 0x1f, location & 7);
    const fs::path folder = fs::path(sys_) / "bus/pci/devices" / bus_id;
    const auto memory = number_of(line_of(folder / "mem_info_vram_total"));
    if (!memory.has_value()) continue;  // on its way out, or in use by a virtual machine
    const Gpu gpu = read_gpu(node.filename().string(), folder.string());
    FoundDevice device;
    device.device =
        Device{"gpu", "amd", short_model(gpu.model), gpu.uuid, *memory, /*numa_node=*/-1};
    device.pci_bus_id = gpu.pci_bus_id;
    device.files = files_of(folder);
    found.devices.push_back(std::move(device));
    gpus_.push_back(gpu);
  }
  find_links(found);
  return found;
}

void Gpus::find_links(FoundDevices& found) const {
  const fs::path nodes = fs::path(sys_) / "class/kfd/kfd/topology/nodes";
  for (const Gpu& gpu : gpus_) {
    for (const fs::path& link : entries(nodes / gpu.node / "io_links")) {
      auto properties = properties_of(link / "properties");
      if (properties["type"] != kXgmi) continue;
      const std::string to = std::to_string(properties["node_to"]);
      for (const Gpu& other : gpus_) {
        // Both ends report it.
        if (other.node == to && gpu.uuid < other.uuid) {
          found.links.push_back({gpu.uuid, other.uuid, "XGMI"});
        }
      }
    }
  }
}

std::vector<DeviceSample> Gpus::sample() {
  std::vector<DeviceSample> samples;
  for (const Gpu& gpu : gpus_) {
    const fs::path folder = gpu.folder;
    const auto total = number_of(line_of(folder / "mem_info_vram_total"));
    const auto used = number_of(line_of(folder / "mem_info_vram_used"));
    if (!total.has_value() || !used.has_value()) continue;
    DeviceSample sample;
    sample.uuid = gpu.uuid;
    sample.pci_bus_id = gpu.pci_bus_id;
    sample.model = gpu.model;
    sample.driver_version = line_of(fs::path(sys_) / "module/amdgpu/version");
    sample.values.emplace_back(Field::kMemoryUsed, static_cast<double>(*used) / kMiB);
    sample.values.emplace_back(Field::kMemoryFree, static_cast<double>(*total - *used) / kMiB);
    add(sample, Field::kUtilization, folder / "gpu_busy_percent", 1);
    add(sample, Field::kMemoryUtilization, folder / "mem_busy_percent", 1);
    add(sample, Field::kPcieReplays, folder / "pcie_replay_count", 1);
    if (const auto mhz = clock_of(folder / "pp_dpm_sclk")) {
      sample.values.emplace_back(Field::kSmClock, *mhz);
    }
    if (const auto mhz = clock_of(folder / "pp_dpm_mclk")) {
      sample.values.emplace_back(Field::kMemoryClock, *mhz);
    }
    add_sensors(sample, folder);
    add_ecc(sample, folder);
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<CutSlices> Gpus::arrange(const std::string& uuid, const std::vector<SlicePlace>& places) {
  if (places.empty()) return CutSlices{};
  return Error{ErrorKind::kInvalid, "cannot_cut",
               fmt::format("{} cannot be cut into slices; ask for whole devices or shares", uuid),
               ""};
}

}  // namespace dove::devices::rocm
