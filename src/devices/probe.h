// DeviceProbe: what is in a machine. One implementation per way of finding out.
#pragma once

#include "base/result.h"
#include "model/node.h"

namespace dove::devices {

class DeviceProbe {
 public:
  virtual ~DeviceProbe() = default;
  // The machine as it is now. Blocks for at most a second or so.
  virtual Result<Inventory> inventory() = 0;
};

}  // namespace dove::devices
