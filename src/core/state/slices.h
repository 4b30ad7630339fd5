// Slices: the parts into which the hardware cuts a device (NVIDIA MIG), by a table for each model.
//
// A device has memory slots from 0. A slice of a profile occupies `size` of them from one of the
// profile's legal starts, and two slices of a device never share a slot: the rule of
// nvmlDeviceGetGpuInstancePossiblePlacements. A device is whole, shared or sliced, never two of
// these. Live slices are never moved: only slots that no slice holds are cut anew. Accelerators
// differ by their row of the table. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/placement.h"

namespace dove::core {

// Slots of one device as bits, slot 0 the lowest.
using SlotSet = std::uint32_t;

struct SliceProfile {
  std::string_view name;     // "2g.10gb", as nvidia-smi and Kubernetes write it
  std::int32_t compute = 0;  // slots of processors: the 2 of 2g
  std::int32_t size = 0;     // memory slots
  SlotSet starts = 0;        // legal first slots; no two of them make slices that overlap
};

struct SliceTable {
  std::string_view family;          // a word of Device::model, matched without case
  std::int64_t memory_max_gib = 0;  // of the device; the first table of the family that has room
  std::int32_t slots = 0;
  std::span<const SliceProfile> profiles;
};

// All that are known, for messages and tests.
std::span<const SliceTable> slice_tables();
// How the device can be cut; null when it cannot.
const SliceTable* slice_table(const Device& device);
const SliceProfile* find_profile(const SliceTable& table, std::string_view name);

SlotSet slots_of(const SlicePlace& place);
// What a slice counts of its device: its part of the memory slots.
std::int32_t share_milli_of(const SliceTable& table, const SliceProfile& profile);
// The smallest share that a slice of this name has on any model; 0 when no model knows it.
std::int32_t least_share_milli(std::string_view name);

// Legal places, of all profiles, in the slots that are not `taken`.
std::int32_t places_left(const SliceTable& table, SlotSet taken);
// How many slices of the profile fit beside what is taken.
std::int32_t slices_left(const SliceProfile& profile, SlotSet taken);
// The place that keeps most legal places for later slices, the lowest of several; none when there
// is no room.
std::optional<SlicePlace> best_place(const SliceTable& table, const SliceProfile& profile,
                                     SlotSet taken);

}  // namespace dove::core
