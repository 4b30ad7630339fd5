// DeviceHealth: faults of devices and network cards, from what they and the kernel report at each
// look.
//
// It covers uncorrected memory errors, rows that wait for a reset, throttling by heat or power,
// missing NVLinks and PCIe lanes, ports that went down, and errors of ports. A check reports when
// its verdict changes, with what it saw then. Open findings are kept in a file, so that they are
// closed when they are over, even after a restart of the agent. Loop thread only.
//
// Sources: DCGM's health watches; Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "devices/device_watch.h"
#include "model/health.h"

namespace dove::agent {

class DeviceHealth {
 public:
  // `sys_root`: "/sys", but for tests. `path`: where open findings are kept; "": nowhere.
  DeviceHealth(std::string sys_root, std::string path);

  // The verdicts that changed. `now_us` is monotonic.
  std::vector<Finding> look(const devices::Sighting& seen, std::int64_t now_us);

 private:
  using Key = std::pair<std::string, std::int32_t>;  // check, device
  struct Slowed {
    double heat_ns = 0;
    double power_ns = 0;
    std::int64_t at_us = 0;
  };

  void judge(Finding finding);
  void good(const std::string& check, std::int32_t device);
  // For conditions that come and go: good after a few looks without it.
  void calm(const std::string& check, std::int32_t device);
  void look_at_memory(const devices::DeviceSample& sample, std::int32_t device);
  void look_at_clocks(const devices::DeviceSample& sample, std::int32_t device,
                      std::int64_t now_us);
  void look_at_lanes(const devices::DeviceSample& sample, std::int32_t device);
  void look_at_links(const Inventory& inventory);
  void look_at_ports();
  void look_at_port(const std::string& card, const std::string& port);
  void read();
  void write() const;

  const std::string sys_root_;
  const std::string path_;
  std::map<Key, Severity> open_;
  std::map<Key, int> calm_looks_;               // in a row, of those that are open
  std::vector<Finding> told_;                   // in this look
  std::map<std::string, Slowed> slowed_;        // by UUID
  std::map<std::int32_t, std::int32_t> links_;  // the most NVLinks that a device had
  std::map<std::string, bool> was_active_;      // by card and port
  std::map<std::string, std::int64_t> errors_;  // by card, port and counter
};

}  // namespace dove::agent
