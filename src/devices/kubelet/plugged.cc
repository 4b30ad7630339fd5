#include "devices/kubelet/plugged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::devices::kubelet {
namespace {

// "nvidia" of "nvidia.com/gpu".
std::string vendor_of(const std::string& resource) {
  return resource.substr(0, resource.find_first_of("./"));
}

// As names of countables are.
bool is_countable(const std::string& resource) {
  return resource.size() <= 64 && !resource.empty() && resource[0] >= 'a' && resource[0] <= 'z' &&
         resource.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.:/-") ==
             std::string::npos;
}

std::string model_name(const PluggedModel& wanted, const std::string& resource) {
  if (!wanted.model.empty()) return wanted.model;
  const std::string word = resource.substr(resource.find('/') + 1);
  return word == "gpu" ? "" : word;
}

}  // namespace

PlugBoard::PlugBoard(std::vector<PluggedModel> models, std::string path)
    : models_(std::move(models)), path_(std::move(path)) {
  read();
}

// A resource a line; after it, where it is one of devices, a device of it. What is named otherwise
// by now (--plugin-gpus) is told anew by its plug-in.
void PlugBoard::read() {
  std::ifstream file(path_);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    const std::string resource = line.substr(0, tab);
    const bool is_device = tab != std::string::npos;
    if (resource.empty() || is_device != (model_of(resource) != nullptr)) continue;
    if (is_device) {
      resources_[line.substr(tab + 1)] = resource;
    } else {
      counted_.insert(resource);
    }
  }
}

void PlugBoard::write() const {
  if (path_.empty()) return;
  std::ostringstream text;
  for (const std::string& resource : counted_) text << resource << '\n';
  for (const auto& [device, resource] : resources_) text << resource << '\t' << device << '\n';
  const auto written = files::write_atomically(path_, text.str(), 0644);
  if (written.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "device_plugins_not_kept",
                 {{"why", written.error().message}});
}

const PluggedModel* PlugBoard::model_of(const std::string& resource) const {
  const auto at = std::find_if(models_.begin(), models_.end(), [&](const PluggedModel& model) {
    return model.resource == resource || (model.resource == "*/gpu" && resource.ends_with("/gpu"));
  });
  return at == models_.end() ? nullptr : &*at;
}

void PlugBoard::set(std::vector<PluginDevices> devices) {
  const std::lock_guard lock(mutex_);
  devices_ = std::move(devices);
  bool has_new = false;
  for (const PluginDevices& of : devices_) {
    if (model_of(of.resource) == nullptr) {
      if (is_countable(of.resource)) {
        has_new = counted_.insert(of.resource).second || has_new;
      } else if (unnamed_.insert(of.resource).second) {
        telemetry::log(telemetry::Level::kWarning, "device_plugin_unused",
                       {{"resource", of.resource},
                        {"why",
                         "jobs cannot name it: countables have lower case letters, 64 at "
                         "most; --plugin-gpus makes devices of it"}});
      }
      continue;
    }
    for (const ListedDevice& device : of.devices) {
      std::string& resource = resources_[device.id];
      has_new = has_new || resource != of.resource;
      resource = of.resource;
    }
  }
  if (has_new) write();
}

FoundDevices PlugBoard::found() const {
  const std::lock_guard lock(mutex_);
  FoundDevices found;
  for (const PluginDevices& of : devices_) {
    const PluggedModel* model = model_of(of.resource);
    if (model == nullptr) {
      const std::int64_t healthy = std::count_if(of.devices.begin(), of.devices.end(),
                                                 [](const auto& one) { return one.is_healthy; });
      if (is_countable(of.resource)) found.countables.push_back({of.resource, healthy});
      continue;
    }
    for (const ListedDevice& listed : of.devices) {
      if (!listed.is_healthy) continue;  // as if it were gone: nobody is given it
      FoundDevice device;
      device.device = Device{"gpu",     vendor_of(of.resource), model_name(*model, of.resource),
                             listed.id, model->memory_bytes,    listed.numa_node};
      found.devices.push_back(std::move(device));
    }
  }
  return found;
}

std::string PlugBoard::resource_of(const std::string& uuid) const {
  const std::lock_guard lock(mutex_);
  const auto at = resources_.find(uuid);
  return at == resources_.end() ? "" : at->second;
}

std::optional<std::vector<std::string>> PlugBoard::units_of(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  if (counted_.count(resource) == 0) return std::nullopt;
  std::vector<std::string> units;
  for (const PluginDevices& of : devices_) {
    for (const ListedDevice& listed : of.devices) {
      if (of.resource == resource && listed.is_healthy) units.push_back(listed.id);
    }
  }
  std::sort(units.begin(), units.end());
  return units;
}

bool PlugBoard::is_here(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(devices_.begin(), devices_.end(), [&](const PluginDevices& of) {
    return of.resource == resource && !of.devices.empty();
  });
}

Result<CutSlices> Plugged::arrange(const std::string& uuid, const std::vector<SlicePlace>& places) {
  if (places.empty()) return CutSlices{};
  return Error{ErrorKind::kInvalid, "cannot_cut",
               fmt::format("{} is a device plug-in's and cannot be cut into slices; ask for whole "
                           "devices or shares",
                           uuid),
               ""};
}

}  // namespace dove::devices::kubelet
