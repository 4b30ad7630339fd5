#include "agent/devices/slice_cutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "agent/devices/own_lines.h"
#include "files/kept_lines.h"
#include "files/text_file.h"

namespace dove::agent {
namespace {

constexpr std::size_t kFileBytes_max = 1 << 20;
constexpr std::string_view kProfile = "profile=";
constexpr std::string_view kInstance = "instance=";

void add_places(const Placement& placement, std::int32_t device, std::vector<SlicePlace>& places) {
  for (const DeviceGrant& grant : placement.devices) {
    if (grant.device == device && grant.is_slice()) places.push_back(grant.slice);
  }
}

std::set<std::int32_t> devices_of(const Placement& placement) {
  std::set<std::int32_t> devices;
  for (const DeviceGrant& grant : placement.devices) devices.insert(grant.device);
  return devices;
}

}  // namespace

SliceCutter::SliceCutter(Arrange arrange, std::string path)
    : arrange_(std::move(arrange)), path_(std::move(path)) {
  read_slices();
}

void SliceCutter::saw_cut(std::vector<std::int32_t> devices) {
  cut_ = {devices.begin(), devices.end()};
}

bool SliceCutter::needs(const Placement& placement) const {
  if (!arrange_) return false;
  return std::any_of(
      placement.devices.begin(), placement.devices.end(),
      [&](const DeviceGrant& grant) { return grant.is_slice() || cut_.count(grant.device) != 0; });
}

std::vector<SlicePlace> SliceCutter::places_on(std::int32_t device,
                                               const std::vector<const Placement*>& held) const {
  std::vector<SlicePlace> places;
  for (const Placement* placement : held) add_places(*placement, device, places);
  for (const auto& [key, cutting] : under_way_) add_places(cutting.placement, device, places);
  std::sort(places.begin(), places.end(),
            [](const SlicePlace& a, const SlicePlace& b) { return a.start < b.start; });
  return places;
}

void SliceCutter::cut(AttemptKey key, const Placement& placement,
                      const std::vector<const Placement*>& held,
                      std::function<void(Result<void>)> done) {
  const std::set<std::int32_t> devices = devices_of(placement);
  under_way_[key] = {placement, devices.size(), "", std::move(done)};
  for (const std::int32_t device : devices) {
    std::vector<SlicePlace> places = places_on(device, held);
    if (!places.empty()) cut_.insert(device);
    arrange_(device, places, [this, key, device, places](const Result<devices::CutSlices>& cut) {
      arranged(key, device, places, cut);
    });
  }
}

void SliceCutter::arranged(AttemptKey key, std::int32_t device,
                           const std::vector<SlicePlace>& places,
                           const Result<devices::CutSlices>& cut) {
  if (cut.ok()) {
    std::erase_if(slices_, [&](const auto& entry) { return entry.first.first == device; });
    for (std::size_t i = 0; i < places.size() && i < cut->size(); ++i) {
      slices_[{device, places[i].start}] = (*cut)[i];
    }
    // A sighting from before may have come meanwhile.
    if (places.empty()) {
      cut_.erase(device);
    } else {
      cut_.insert(device);
    }
    write_slices();
  }
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;  // it was stopped meanwhile
  Cutting& cutting = found->second;
  if (!cut.ok()) {
    cutting.failed = fmt::format("device {} cannot be cut: {}", device, cut.error().message);
  }
  if (--cutting.devices_left > 0) return;
  const Cutting over = std::move(cutting);
  under_way_.erase(found);
  if (over.failed.empty()) return over.done({});
  over.done(Error{ErrorKind::kUnavailable, "cannot_cut", over.failed, ""});
}

// One a line: device, first slot, name, its profile and number where they are known, files.
void SliceCutter::read_slices() {
  if (path_.empty()) return;
  for (const std::string& line : read_own_lines(path_, kFileBytes_max)) {
    std::istringstream words(line);
    std::int32_t device = 0;
    std::int32_t start = 0;
    devices::CutSlice slice;
    if (!(words >> device >> start >> slice.name)) continue;
    for (std::string one; words >> one;) {
      if (one.starts_with(kProfile)) {
        slice.profile = one.substr(kProfile.size());
      } else if (one.starts_with(kInstance)) {
        slice.instance = std::strtoll(one.c_str() + kInstance.size(), nullptr, 10);
      } else {
        slice.files.push_back(one);
      }
    }
    slices_[{device, start}] = std::move(slice);
  }
}

void SliceCutter::write_slices() const {
  if (path_.empty()) return;
  std::string text;
  for (const auto& [place, slice] : slices_) {
    std::ostringstream line;
    line << place.first << ' ' << place.second << ' ' << slice.name;
    if (!slice.profile.empty()) line << ' ' << kProfile << slice.profile;
    if (slice.instance >= 0) line << ' ' << kInstance << slice.instance;
    for (const std::string& one : slice.files) line << ' ' << one;
    text += files::kept_line(line.str());
  }
  (void)files::write_atomically(path_, text, 0644);
}

}  // namespace dove::agent
