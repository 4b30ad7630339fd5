// Devices that are not there: an inventory's, with the placement rules of the real ones.
//
// Slices are cut only where the hardware of that model allows them (core/state/slices.h), and named
// "MIG-<uuid>/<start>/<size>". What was cut is forgotten with the process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/accelerators.h"
#include "devices/host.h"

namespace dove::devices::emulated {

// Cores, memory and countables of an inventory; its devices have no place on PCI.
class EmulatedHost : public Host {
 public:
  explicit EmulatedHost(Inventory inventory);
  Result<Inventory> inventory() override { return inventory_; }
  std::int32_t numa_of(const std::string& pci_bus_id) const override;
  std::string path(const std::string& bus_id_a, const std::string& bus_id_b) const override;

 private:
  Inventory inventory_;
};

class EmulatedAccelerators : public Accelerators {
 public:
  // `files`: in /dev, of each device; empty: they have none. REQUIRES: the uuids of the inventory's
  // devices differ.
  explicit EmulatedAccelerators(const Inventory& inventory,
                                const std::vector<std::vector<std::string>>& files = {});

  Result<FoundDevices> find() override;
  // Their memory, all of it free, and no work.
  std::vector<DeviceSample> sample() override;
  Result<CutSlices> arrange(const std::string& uuid,
                            const std::vector<SlicePlace>& places) override;

 private:
  FoundDevices found_;
};

}  // namespace dove::devices::emulated
