// An inventory read from a file, so that a laptop can be 4 nodes with 8 GPUs each.
//
//   cores: 64                 # ids 0-63; or a list per NUMA node below
//   threads_per_core: 2       # ids are hardware threads: of a NUMA node of 32, c and c + 16 (1)
//   memory: 512Gi
//   numa: [{cores: 0-31, memory: 256Gi}, {cores: 32-63, memory: 256Gi}]
//   devices: [{count: 8, model: H200, memory: 141Gi, vendor: nvidia, numa_node: 0}]
//   # a device may have files: ["/dev/nvidia{}", /dev/nvidiactl], {} being its id
//   links: [{devices: [0, 1], kind: NV18}]
//   countables: {rdma: 8, hugepages-2Mi: 4Gi}
//
// Errors carry the file, line and column and what is expected there; unknown keys are errors. More
// cores than the machine has are accepted: emulated tasks share the real ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/probe.h"

namespace dove::devices::emulated {

class InventoryFile : public DeviceProbe {
 public:
  explicit InventoryFile(std::string path) : path_(std::move(path)) {}
  Result<Inventory> inventory() override;

 private:
  std::string path_;
};

inline constexpr std::int32_t kDevicesMax = 1024;  // of a node

// The same from text; `name` is used in messages. At most 1 MiB.
Result<Inventory> parse_inventory(const std::string& text, const std::string& name);

// The files of each device, from a text that parse_inventory() takes.
std::vector<std::vector<std::string>> parse_device_files(const std::string& text);

// `gpus` devices over two NUMA nodes (one when there is one device or none).
Inventory uniform(std::int32_t cores, std::int64_t memory_bytes, std::int32_t gpus,
                  const std::string& model);

}  // namespace dove::devices::emulated
