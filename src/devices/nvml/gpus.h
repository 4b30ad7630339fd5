// Gpus: NVIDIA's GPUs in this machine, through their management library.
//
// The library is loaded when GPUs are looked for, and again after it has failed, so a driver may
// come, go and be replaced while the agent runs. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/accelerators.h"
#include "devices/nvml/activity.h"
#include "devices/nvml/library.h"

namespace dove::devices::nvml {

class Gpus : public Accelerators {
 public:
  // `capabilities`: where the driver says by which files slices are opened.
  explicit Gpus(std::string library_path = "libnvidia-ml.so.1",
                std::string capabilities = "/proc/driver/nvidia/capabilities");
  ~Gpus() override;

  Result<FoundDevices> find() override;
  std::vector<DeviceSample> sample() override;
  Result<CutSlices> arrange(const std::string& uuid,
                            const std::vector<SlicePlace>& places) override;

 private:
  struct Gpu {
    Handle handle = nullptr;
    std::string uuid;
    std::string name;
    std::string pci_bus_id;
    unsigned minor = 0;  // of /dev/nvidia<minor>
  };

  Result<void> open();
  void close();
  void register_events(Handle gpu);
  void find_links(FoundDevices& found) const;
  std::vector<std::string> nvlink_peers(const Gpu& gpu) const;
  void take_xids(std::map<Handle, std::vector<std::int64_t>>& xids);

  std::string path_;
  std::string capabilities_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Activity> activity_;  // as long as the library
  Handle events_ = nullptr;
  std::string driver_version_;
  std::vector<Gpu> gpus_;
  std::map<std::string, std::int64_t> last_xids_;  // by uuid, as long as the agent lives
};

}  // namespace dove::devices::nvml
