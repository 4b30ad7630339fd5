// Host: the machine around its accelerators: cores, memory, and how PCI ties them together.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/node.h"

namespace dove::devices {

class Host {
 public:
  virtual ~Host() = default;
  // Cores that this process may use, NUMA nodes and memory; no devices.
  virtual Result<Inventory> inventory() = 0;
  // Index into Inventory::numa of the NUMA node that this PCI device is beside; -1 when not known.
  virtual std::int32_t numa_of(const std::string& pci_bus_id) const = 0;
  // The path between two PCI devices as `nvidia-smi topo -m` names it: PIX (one bridge), PXB (some
  // bridges), PHB (the host bridge), NODE, SYS; "" when either is not known.
  virtual std::string path(const std::string& bus_id_a, const std::string& bus_id_b) const = 0;
};

}  // namespace dove::devices
