#include "devices/emulated/accelerator_toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "devices/emulated/inventory_file.h"

namespace dove::devices::emulated {
namespace {

constexpr std::int64_t kMemoryMax_bytes = std::int64_t{1} << 44;  // of a device or a part of one

Error wrong(const std::string& name, const toml::source_region& where, std::string_view what) {
  const std::string place = fmt::format("{}:{}", name, where.begin.line);
  return Error{ErrorKind::kInvalid, "inventory", fmt::format("{}: {}", place, what), place};
}

// "40G" is 40 GiB, as Backend.AI counts.
Result<std::int64_t> bytes_of(const std::string& text, const std::string& name) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::string units = "KMGT";
  const std::size_t at = unit.size() == 1 ? units.find(unit[0] & ~0x20) : std::string::npos;
  const std::size_t shift = unit.empty() ? 0 : 10 * (at + 1);
  if (error != std::errc() || value < 0 || (!unit.empty() && at == std::string::npos) ||
      value > kMemoryMax_bytes >> shift) {
    return Error{ErrorKind::kInvalid, "inventory",
                 fmt::format("{}: memory_size '{}' is not an amount such as \"40G\"", name, text),
                 name};
  }
  return value << shift;
}

std::string vendor_of(const std::string& slot) {
  if (slot == "cuda") return "nvidia";
  return slot == "rocm" ? "amd" : slot;
}

}  // namespace

Result<std::vector<Device>> parse_accelerator_toml(const std::string& text,
                                                   const std::string& name) {
  if (text.size() > (1u << 20)) {
    return Error{ErrorKind::kTooLarge, "inventory", name + ": over 1 MiB", name};
  }
  toml::table root;
  try {
    root = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    return wrong(name, e.source(), e.description());
  }
  std::vector<Device> devices;
  const toml::array* listed = root["devices"].as_array();
  if (listed == nullptr) return devices;
  for (const toml::node& item : *listed) {
    const toml::node_view entry(item);
    const std::string uuid = entry["mother_uuid"].value_or("");
    if (uuid.empty()) {
      return wrong(name, item.source(), "each of devices is { mother_uuid = \"…\", … }");
    }
    TRY_ASSIGN(const std::int64_t memory, bytes_of(entry["memory_size"].value_or("0"), name));
    const auto same = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& device) { return device.uuid == uuid; });
    if (same != devices.end() && !entry["is_mig_device"].value_or(false)) {
      return wrong(name, item.source(), fmt::format("two devices have the mother_uuid {}", uuid));
    }
    if (same != devices.end()) {
      same->memory_bytes += memory;
      continue;
    }
    if (devices.size() == static_cast<std::size_t>(kDevicesMax)) {
      return wrong(name, item.source(), fmt::format("a node has at most {} devices", kDevicesMax));
    }
    Device device;
    device.vendor = vendor_of(root["slot_name"].value_or("cuda"));
    device.model = entry["model_name"].value_or("");
    device.uuid = uuid;
    device.memory_bytes = memory;
    device.numa_node = std::clamp(entry["numa_node"].value_or(0), 0, 1023);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace dove::devices::emulated
