// The devices of one node for one request: how many there are, and which are chosen.
//
// The policy chooses whole devices and shares. Slices follow the hardware (slices.h): first devices
// that are already sliced, where most legal places are left, then idle ones. A device with a share
// or a slice in use is never offered for anything else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/queue/policy.h"
#include "core/state/slices.h"

namespace dove::core {

// What is free of a node's devices, to be looked at.
struct DeviceView {
  const Inventory& inventory;
  std::span<const std::int32_t> free_milli;
  std::span<const SlotSet> slots_taken;  // empty: no slices
  const CoreSet& cores;                  // free ones of the node
};

// What is free of a node's devices, to be worked on.
struct DeviceBooks {
  ShortList<std::int32_t, 8> free_milli;
  std::vector<SlotSet> slots_taken;
};

// Whether the device is of the kind, model and size that the request asks for.
bool matches(const Request& request, const Device& device);

bool wants_devices(const Request& request);

// Whether anybody holds slices of the device.
bool is_sliced(std::span<const SlotSet> slots_taken, std::size_t device);

// How often the request could be met, 0 to `most`. REQUIRES: wants_devices(request).
std::int32_t device_capacity(const DeviceView& free, const Request& request, std::int32_t most);

// What decides which of a node's devices are chosen, besides the devices themselves.
struct DeviceWish {
  const CoreSet& cores;       // free ones of the node
  std::int32_t cores_wanted;  // of them, with the devices
  Affinity affinity = Affinity::kSingle;
};

// Takes the request's devices off `books` and adds them to `out`; false, with nothing taken, when
// they are not there.
bool allocate_devices(const Inventory& inventory, DeviceBooks& books, const DeviceWish& wish,
                      const Request& request, const PlacementPolicy& policy,
                      std::vector<DeviceGrant>& out);

}  // namespace dove::core
