// Gpus: AMD's GPUs in this machine, from what their driver (amdgpu, amdkfd) shows in sysfs.
//
// GPUs are the nodes of /sys/class/kfd/kfd/topology that have a gpu_id; what they say of themselves
// lies in their PCI devices' folders. Neither ROCm nor its libraries are needed. Source: Linux,
// Documentation/gpu/amdgpu and drivers/gpu/drm/amd/amdkfd/kfd_topology.c. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "devices/accelerators.h"

namespace dove::devices::rocm {

class Gpus : public Accelerators {
 public:
  // `sys`: where sysfs is mounted.
  explicit Gpus(std::string sys = "/sys");

  Result<FoundDevices> find() override;
  std::vector<DeviceSample> sample() override;
  // These devices are whole: any slice is refused.
  Result<CutSlices> arrange(const std::string& uuid,
                            const std::vector<SlicePlace>& places) override;

 private:
  struct Gpu {
    std::string node;  // of KFD's topology: "2"
    std::string uuid;
    std::string model;
    std::string pci_bus_id;
    std::string folder;  // of the PCI device
  };

  Gpu read_gpu(const std::string& node, const std::string& folder) const;
  void find_links(FoundDevices& found) const;

  std::string sys_;
  std::vector<Gpu> gpus_;
};

}  // namespace dove::devices::rocm
