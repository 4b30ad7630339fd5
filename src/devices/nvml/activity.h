// Activity: how busy the parts of GPUs were between two looks at them, from the counters of the
// hardware (NVML's GPM: Hopper and newer).
//
// Each look takes one sample and compares it with that of the look before, so the first one gives
// nothing. Older GPUs and drivers have no such counters, and nothing is asked of them again. One
// thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "devices/nvml/library.h"
#include "devices/readings.h"

namespace dove::devices::nvml {

class Activity {
 public:
  // `library` outlives it.
  explicit Activity(const Library& library);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // Adds kEngineActive, kTensorActive and kMemoryActive, as far as the GPU counts them.
  void read(const std::string& uuid, Handle gpu, DeviceSample& sample);

 private:
  struct Looks {
    Handle gpu = nullptr;
    Handle last = nullptr;   // sample of the look before; null: there was none
    Handle spare = nullptr;  // the next one
  };

  // Takes the first sample, where there are counters.
  void begin(Looks& looks, Handle gpu) const;
  void end(Looks& looks) const;

  const Calls& call_;
  std::map<std::string, Looks> looks_;  // by uuid; without samples: it has no counters
  std::unique_ptr<GpmMetrics> metrics_;
};

}  // namespace dove::devices::nvml
