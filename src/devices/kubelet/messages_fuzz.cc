// Any bytes as what a device plug-in sends: never a crash.
//
// seeds: tests/seeds/kubelet
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "devices/kubelet/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dove::devices::kubelet;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)read_register_request(bytes).ok();
  (void)read_plugin_options(bytes).ok();
  if (const auto devices = read_device_list(bytes); devices.ok()) {
    for (const ListedDevice& device : *devices) CHECK(!device.id.empty(), "devices have ids");
  }
  if (const auto allocation = read_allocation(bytes); allocation.ok()) {
    for (const PluginMount& mount : allocation->mounts) {
      CHECK(mount.host_path.starts_with('/'), "mounts are absolute");
    }
  }
  return 0;
}
