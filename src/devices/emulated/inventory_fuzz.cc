// Any bytes as an inventory, in YAML and in TOML: an inventory that makes sense, or an error that
// names its place; never a crash, and no more devices than a node can have.
//
// seeds: tests/seeds/inventories
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "devices/emulated/accelerator_toml.h"
#include "devices/emulated/inventory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::devices::emulated;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto read = parse_inventory(text, "file"); read.ok()) {
    const auto devices = static_cast<std::int32_t>(read->devices.size());
    for (const dove::Device& device : read->devices) {
      CHECK(device.numa_node < static_cast<std::int32_t>(read->numa.size()), "a NUMA node of it");
    }
    for (const dove::Link& link : read->links) {
      CHECK(link.device_a < devices && link.device_b < devices, "links join devices of it");
    }
    CHECK(devices <= kDevicesMax, "the limit of devices holds");
    CHECK(parse_device_files(text).size() == read->devices.size(), "files of each device");
  } else {
    CHECK(read.error().message.starts_with("file"), "an error names its place");
  }
  if (const auto read = parse_accelerator_toml(text, "file"); !read.ok()) {
    CHECK(read.error().message.starts_with("file"), "an error names its place");
  }
  return 0;
}
