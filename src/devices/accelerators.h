// Accelerators: the devices of one vendor in this machine, behind one interface. A new vendor is
// one implementation (docs/recipes/device.md).
//
// Calls may block for seconds (drivers do); they are made one at a time, by one thread
// (DeviceWatch).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "devices/readings.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/resources.h"

namespace dove::devices {

struct FoundDevice {
  Device device;           // uuid is set; numa_node -1 when only its place on PCI tells it
  std::string pci_bus_id;  // "0000:18:00.0", lower case; "" when it has none
  bool is_cut = false;     // it is in the mode in which it has slices instead of being whole
  // Files in /dev that whoever uses it opens, absolute; some are of all devices of the vendor.
  std::vector<std::string> files = {};
};

struct CutSlice {
  std::string name;                // what CUDA (or its like) calls it
  std::vector<std::string> files;  // that whoever uses it opens besides its device's
  std::string profile;             // "1g.18gb"; "" when unknown
  std::int64_t instance = -1;      // the vendor's number of it (NVIDIA's GPU instance); -1: none
  bool operator==(const CutSlice&) const = default;
};
using CutSlices = std::vector<CutSlice>;

struct FoundLink {
  std::string uuid_a;
  std::string uuid_b;
  std::string kind;  // as in Link
};

struct FoundDevices {
  std::vector<FoundDevice> devices;  // in the order of their files in /dev, if that is known
  std::vector<FoundLink> links;
  std::vector<Countable> countables = {};  // what it has besides devices, by its amount
};

class Accelerators {
 public:
  virtual ~Accelerators() = default;
  // All that are there and answer. None when the machine has no such devices or drivers; an error
  // when there is a driver that does not work, and says what to do.
  virtual Result<FoundDevices> find() = 0;
  // Samples of the devices that find() returned last. One that does not answer has no sample.
  virtual std::vector<DeviceSample> sample() = 0;
  // Cuts a device so that it has slices at exactly these places, ascending by start; none: it is
  // whole. Slices that stay are not touched, whoever holds them. The answer is in the
  // order of the places. Repeats change nothing. Fails when hardware, driver or a process on a
  // slice that is to go forbid it.
  virtual Result<CutSlices> arrange(const std::string& uuid,
                                    const std::vector<SlicePlace>& places) = 0;
};

}  // namespace dove::devices
