#include "devices/emulated/accelerators.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/state/slices.h"

namespace dove::devices::emulated {
namespace {

// That of a slice at this place; null where there can be none.
const core::SliceProfile* profile_at(const core::SliceTable& table, const SlicePlace& place) {
  const auto found = std::find_if(
      table.profiles.begin(), table.profiles.end(), [&](const core::SliceProfile& profile) {
        return profile.size == place.size && profile.compute == place.compute && place.start >= 0 &&
               place.start < table.slots && (profile.starts >> place.start & 1) != 0;
      });
  return found == table.profiles.end() ? nullptr : &*found;
}

Error refused(const Device& device, const std::string& why) {
  return Error{ErrorKind::kInvalid, "cannot_cut", fmt::format("{} {}", device.uuid, why), ""};
}

}  // namespace

EmulatedHost::EmulatedHost(Inventory inventory) : inventory_(std::move(inventory)) {
  inventory_.devices.clear();
  inventory_.links.clear();
}

std::int32_t EmulatedHost::numa_of(const std::string&) const { return -1; }

std::string EmulatedHost::path(const std::string&, const std::string&) const { return ""; }

EmulatedAccelerators::EmulatedAccelerators(const Inventory& inventory,
                                           const std::vector<std::vector<std::string>>& files) {
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    found_.devices.push_back({inventory.devices[i], "", false});
    if (i < files.size()) found_.devices.back().files = files[i];
  }
  for (const Link& link : inventory.links) {
    found_.links.push_back({inventory.devices[static_cast<std::size_t>(link.device_a)].uuid,
                            inventory.devices[static_cast<std::size_t>(link.device_b)].uuid,
                            link.kind});
  }
}

Result<FoundDevices> EmulatedAccelerators::find() { return found_; }

std::vector<DeviceSample> EmulatedAccelerators::sample() {
  std::vector<DeviceSample> samples;
  for (const FoundDevice& found : found_.devices) {
    DeviceSample sample;
    sample.uuid = found.device.uuid;
    sample.model = found.device.model;
    sample.values = {{Field::kMemoryFree, static_cast<double>(found.device.memory_bytes >> 20)},
                     {Field::kMemoryUsed, 0},
                     {Field::kUtilization, 0}};
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<CutSlices> EmulatedAccelerators::arrange(const std::string& uuid,
                                                const std::vector<SlicePlace>& places) {
  const auto at = std::find_if(found_.devices.begin(), found_.devices.end(),
                               [&](const FoundDevice& found) { return found.device.uuid == uuid; });
  CHECK(at != found_.devices.end(), "a device of this family");
  const core::SliceTable* table = core::slice_table(at->device);
  core::SlotSet taken = 0;
  CutSlices slices;
  for (const SlicePlace& place : places) {
    const core::SliceProfile* profile = table == nullptr ? nullptr : profile_at(*table, place);
    if (profile == nullptr) {
      return refused(at->device, fmt::format("has no slice of {} memory slots from {} with {} of "
                                             "processors",
                                             place.size, place.start, place.compute));
    }
    if ((taken & core::slots_of(place)) != 0) return refused(at->device, "has slices that overlap");
    taken |= core::slots_of(place);
    CutSlice slice;
    slice.name = fmt::format("MIG-{}/{}/{}", uuid, place.start, place.size);
    slice.profile = profile->name;
    slice.instance = place.start;
    slices.push_back(std::move(slice));
  }
  at->is_cut = !places.empty();
  return slices;
}

}  // namespace dove::devices::emulated
