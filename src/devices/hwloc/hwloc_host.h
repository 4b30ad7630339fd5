// HwlocHost: this machine as hwloc sees it.
//
// hwloc reads /sys and /proc of Linux; the topology is taken once, when it is made (cores and
// memory of a running machine do not come and go). Library: hwloc 2.9.
#pragma once

#include <memory>
#include <string>

#include "devices/host.h"

namespace dove::devices::hwloc {

class HwlocHost : public Host {
 public:
  // Describes this machine.
  static Result<std::unique_ptr<HwlocHost>> make();
  // Describes another machine, as `lstopo --of xml` exported it.
  static Result<std::unique_ptr<HwlocHost>> from_xml(const std::string& xml);
  ~HwlocHost() override;

  Result<Inventory> inventory() override;
  std::int32_t numa_of(const std::string& pci_bus_id) const override;
  std::string path(const std::string& bus_id_a, const std::string& bus_id_b) const override;

 private:
  struct Topology;
  explicit HwlocHost(std::unique_ptr<Topology> topology);
  std::unique_ptr<Topology> topology_;
};

}  // namespace dove::devices::hwloc
