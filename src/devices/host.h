// HostProbe: the cores, NUMA nodes and memory of this machine, from /sys; no accelerators.
#pragma once

#include "devices/probe.h"

namespace dove::devices {

class HostProbe : public DeviceProbe {
 public:
  Result<Inventory> inventory() override;
};

// "0-3,8" as the kernel writes lists of ids. kInvalid for anything else.
Result<std::vector<std::int32_t>> parse_id_list(const std::string& text);

}  // namespace dove::devices
