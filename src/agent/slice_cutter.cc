#include "agent/slice_cutter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace dove::agent {
namespace {

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

SliceCutter::SliceCutter(Arrange arrange, std::string names_path)
    : arrange_(std::move(arrange)), names_path_(std::move(names_path)) {
  read_names();
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
    arrange_(device, places, [this, key, device, places](const Result<Names>& names) {
      arranged(key, device, places, names);
    });
  }
}

void SliceCutter::arranged(AttemptKey key, std::int32_t device,
                           const std::vector<SlicePlace>& places, const Result<Names>& names) {
  if (names.ok()) {
    std::erase_if(names_, [&](const auto& entry) { return entry.first.first == device; });
    for (std::size_t i = 0; i < places.size() && i < names->size(); ++i) {
      names_[{device, places[i].start}] = (*names)[i];
    }
    // A sighting from before may have come meanwhile.
    if (places.empty()) {
      cut_.erase(device);
    } else {
      cut_.insert(device);
    }
    write_names();
  }
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;  // it was stopped meanwhile
  Cutting& cutting = found->second;
  if (!names.ok()) {
    cutting.failed = fmt::format("device {} cannot be cut: {}", device, names.error().message);
  }
  if (--cutting.devices_left > 0) return;
  const Cutting over = std::move(cutting);
  under_way_.erase(found);
  if (over.failed.empty()) return over.done({});
  over.done(Error{ErrorKind::kUnavailable, "cannot_cut", over.failed, ""});
}

void SliceCutter::read_names() {
  std::ifstream file(names_path_);
  std::int32_t device = 0;
  std::int32_t start = 0;
  std::string name;
  while (file >> device >> start >> name) names_[{device, start}] = name;
}

void SliceCutter::write_names() const {
  if (names_path_.empty()) return;
  const std::string fresh = names_path_ + ".new";
  std::ofstream file(fresh);
  for (const auto& [place, name] : names_) {
    file << place.first << ' ' << place.second << ' ' << name << '\n';
  }
  file.close();
  if (file) std::rename(fresh.c_str(), names_path_.c_str());
}

}  // namespace dove::agent
