#include "agent/devices/device_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "agent/devices/own_lines.h"
#include "codec/json.h"
#include "files/kept_lines.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFileBytes_max = 64 << 20;
constexpr char kWithoutPlugin[] = "without_plugin";  // resources whose units nobody knows

std::vector<std::int32_t> set_of(const std::vector<DeviceGrant>& grants) {
  std::set<std::int32_t> ids;
  for (const DeviceGrant& grant : grants) ids.insert(grant.device);
  return {ids.begin(), ids.end()};
}

Json edits_json(const DeviceEdits& edits) {
  Json mounts = Json::array();
  for (const containers::CdiMount& mount : edits.edits.mounts) {
    mounts.push_back({mount.source, mount.target, mount.writable});
  }
  return Json{{"environment", edits.edits.environment},
              {"devices", edits.edits.devices},
              {"mounts", std::move(mounts)},
              {"cdi", edits.cdi_devices},
              {"annotations", edits.annotations}};
}

DeviceEdits edits_of(const Json& line) {
  DeviceEdits edits;
  line.at("environment").get_to(edits.edits.environment);
  line.at("devices").get_to(edits.edits.devices);
  for (const Json& mount : line.at("mounts")) {
    edits.edits.mounts.push_back({mount.at(0), mount.at(1), mount.at(2)});
  }
  line.at("cdi").get_to(edits.cdi_devices);
  line.at("annotations").get_to(edits.annotations);
  return edits;
}

}  // namespace

void DeviceEdits::add(const DeviceEdits& more) {
  edits.add(more.edits);
  cdi_devices.insert(cdi_devices.end(), more.cdi_devices.begin(), more.cdi_devices.end());
  annotations.insert(more.annotations.begin(), more.annotations.end());
}

DeviceAllocator::DeviceAllocator(Plugins plugins, std::string path)
    : plugins_(std::move(plugins)), path_(std::move(path)) {
  read();
}

std::vector<std::string> DeviceAllocator::plugged_of(const Set& set,
                                                     const Inventory& inventory) const {
  std::vector<std::string> uuids;
  for (const std::int32_t id : set) {
    const auto index = static_cast<std::size_t>(id);
    if (!plugins_.resource_of || index >= inventory.devices.size()) continue;
    const std::string& uuid = inventory.devices[index].uuid;
    if (!plugins_.resource_of(uuid).empty()) uuids.push_back(uuid);
  }
  return uuids;
}

// The plug-ins of the placement that have not registered, and devices that none has reported.
std::set<std::string> DeviceAllocator::away(const Placement& placement,
                                            const Inventory& inventory) const {
  std::set<std::string> missing;
  if (!plugins_.is_here) return missing;
  const auto look_for = [&](const std::string& resource) {
    if (!resource.empty() && !plugins_.is_here(resource)) missing.insert(resource);
  };
  for (const DeviceGrant& grant : placement.devices) {
    const auto index = static_cast<std::size_t>(grant.device);
    if (index >= inventory.devices.size()) {
      missing.insert(fmt::format("device {}", grant.device));
    } else {
      look_for(plugins_.resource_of(inventory.devices[index].uuid));
    }
  }
  for (const Countable& one : placement.countables) {
    if (plugins_.units && plugins_.units(one.name, placement)) look_for(one.name);
  }
  return missing;
}

bool DeviceAllocator::needs(const Placement& placement, const Inventory& inventory) const {
  const auto is_plugged = [&](const Countable& one) {
    return plugins_.units && plugins_.units(one.name, placement).has_value();
  };
  return !plugged_of(set_of(placement.devices), inventory).empty() ||
         std::any_of(placement.countables.begin(), placement.countables.end(), is_plugged) ||
         !away(placement, inventory).empty();
}

// Why nobody knows which units of the resource some attempt uses; "": it is known of all.
std::string DeviceAllocator::why_unknown(const std::string& resource,
                                         const Holders& holders) const {
  for (const auto& [key, placement] : holders) {
    const bool has = std::any_of(placement->countables.begin(), placement->countables.end(),
                                 [&](const Countable& one) { return one.name == resource; });
    if (!has || units_of(key, resource) != nullptr) continue;
    const auto counted = counted_.find(key);
    const bool is_noted = counted != counted_.end() && counted->second.units.contains(resource);
    return fmt::format(
        "which {} attempt {} has is not known, as {}", resource, key.text(),
        is_noted ? "it began before the device plug-in came" : path_ + " was damaged");
  }
  return "";
}

// What is held, but for that one; what was kept of others is dropped.
DeviceAllocator::Holders DeviceAllocator::living(AttemptKey but) {
  Holders holders = plugins_.holders ? plugins_.holders() : Holders();
  std::erase_if(counted_, [&](const auto& entry) {
    return under_way_.count(entry.first) == 0 && holders.count(entry.first) == 0;
  });
  counted_.erase(but);
  holders.erase(but);
  return holders;
}

void DeviceAllocator::begins_without(AttemptKey key, const Placement& placement) {
  if (!plugins_.units || placement.countables.empty()) return;
  living(key);
  for (const Countable& one : placement.countables) counted_[key].units[one.name];
  write();
}

// The first that nobody has.
Result<DeviceAllocator::Units> DeviceAllocator::choose(AttemptKey key, const Placement& placement) {
  const Holders holders = living(key);
  Units chosen;
  for (const Countable& one : placement.countables) {
    std::optional<std::vector<std::string>> free =
        plugins_.units ? plugins_.units(one.name, placement) : std::nullopt;
    if (!free) {
      chosen[one.name];
      continue;
    }
    if (const std::string why = why_unknown(one.name, holders); !why.empty()) {
      return Error{ErrorKind::kUnavailable, "device_plugin",
                   why + "; none is given out until that attempt has ended", one.name};
    }
    for (const auto& [other, counted] : counted_) {
      const auto theirs = counted.units.find(one.name);
      if (theirs == counted.units.end()) continue;
      std::erase_if(*free, [&](const std::string& id) {
        return std::count(theirs->second.begin(), theirs->second.end(), id) > 0;
      });
    }
    if (static_cast<std::int64_t>(free->size()) < one.amount) {
      return Error{
          ErrorKind::kUnavailable, "device_plugin",
          fmt::format("{} of {} are asked for, and {} are free and well on this node; look "
                      "at its device plug-in, or, for nics, at the links of its cards",
                      one.amount, one.name, free->size()),
          one.name};
    }
    free->resize(static_cast<std::size_t>(one.amount));
    chosen[one.name] = std::move(*free);
  }
  return chosen;
}

std::vector<AttemptKey> DeviceAllocator::under_way() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, asking] : under_way_) keys.push_back(key);
  return keys;
}

void DeviceAllocator::allocate(AttemptKey key, const Placement& placement,
                               const Inventory& inventory, std::function<void(Result<void>)> done) {
  under_way_[key].done = std::move(done);
  const std::set<std::string> missing = away(placement, inventory);
  if (missing.empty()) return ask(key, placement, inventory);
  under_way_[key].waits_with = placement;
  wait(key, missing);
}

void DeviceAllocator::wait(AttemptKey key, const std::set<std::string>& away) {
  telemetry::log(telemetry::Level::kWarning, "device_plugin_awaited",
                 {{"attempt", key.text()}, {"plug-ins", fmt::format("{}", fmt::join(away, ", "))}});
  if (!plugins_.after) return;
  under_way_[key].limit = plugins_.after(kPlugin_limit, [this, key, away] {
    under_way_[key].failed = fmt::format(
        "no device plug-in for {} has registered within {} s; restart it, and see its own log",
        fmt::join(away, ", "), kPlugin_limit.count());
    end(key);
  });
}

void DeviceAllocator::look(const Inventory& inventory) {
  for (const AttemptKey key : under_way()) {
    const auto found = under_way_.find(key);
    if (found == under_way_.end() || !found->second.waits_with) continue;
    if (!away(*found->second.waits_with, inventory).empty()) continue;
    const Placement placement = *std::exchange(found->second.waits_with, std::nullopt);
    found->second.limit.cancel();
    ask(key, placement, inventory);
  }
}

void DeviceAllocator::ask(AttemptKey key, const Placement& placement, const Inventory& inventory) {
  std::set<Set> sets = {set_of(placement.devices)};
  for (const TaskGrant& task : placement.tasks) {
    if (!task.devices.empty()) sets.insert(set_of(task.devices));
  }
  std::erase_if(sets, [&](const Set& set) { return plugged_of(set, inventory).empty(); });
  Result<Units> units = choose(key, placement);
  const auto is_asked = [](const auto& one) { return !one.second.empty(); };
  const auto of_units = units.ok() ? std::count_if(units->begin(), units->end(), is_asked) : 0;
  const std::size_t asked = sets.size() + static_cast<std::size_t>(of_units);
  Asking& asking = under_way_[key];
  asking.left = asked;
  if (!units.ok()) asking.failed = units.error().message;
  if (units.ok() && !units->empty()) counted_[key].units = *units;
  if (asked == 0) return end(key);
  for (const Set& set : sets) {
    plugins_.ask(plugged_of(set, inventory), [this, key, set](const Result<DeviceEdits>& answer) {
      answered(key, set, answer);
    });
  }
  if (!units.ok()) return;
  for (const auto& [resource, ids] : *units) {
    if (ids.empty()) continue;
    plugins_.ask_units(resource, ids, [this, key](const Result<DeviceEdits>& answer) {
      const auto counted = counted_.find(key);
      if (answer.ok() && counted != counted_.end()) counted->second.edits.add(*answer);
      one_less(key, answer);
    });
  }
}

void DeviceAllocator::answered(AttemptKey key, const Set& set, const Result<DeviceEdits>& answer) {
  if (answer.ok()) {
    answers_[set] = *answer;
    write();
  }
  one_less(key, answer);
}

void DeviceAllocator::one_less(AttemptKey key, const Result<DeviceEdits>& answer) {
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;  // it was stopped meanwhile
  if (!answer.ok()) found->second.failed = answer.error().message;
  if (--found->second.left == 0) end(key);
}

void DeviceAllocator::end(AttemptKey key) {
  const auto found = under_way_.find(key);
  const Asking over = std::move(found->second);  // with its timer, which may be running us
  under_way_.erase(found);
  if (!over.failed.empty()) counted_.erase(key);
  write();
  if (over.failed.empty()) return over.done({});
  over.done(Error{ErrorKind::kUnavailable, "device_plugin", over.failed, ""});
}

const DeviceEdits* DeviceAllocator::find(const std::vector<DeviceGrant>& grants) const {
  const auto found = answers_.find(set_of(grants));
  return found == answers_.end() ? nullptr : &found->second;
}

const DeviceEdits* DeviceAllocator::find_units(AttemptKey key) const {
  const auto found = counted_.find(key);
  return found == counted_.end() ? nullptr : &found->second.edits;
}

const std::vector<std::string>* DeviceAllocator::units_of(AttemptKey key,
                                                          std::string_view resource) const {
  const auto found = counted_.find(key);
  if (found == counted_.end()) return nullptr;
  const auto units = found->second.units.find(resource);
  return units == found->second.units.end() || units->second.empty() ? nullptr : &units->second;
}

// A line each; one that cannot be read is asked for again with the next attempt.
void DeviceAllocator::read() {
  if (path_.empty()) return;
  for (const std::string& line : read_own_lines(path_, kFileBytes_max)) {
    const Result<Json> value = codec::parse_json(line, kFileBytes_max);
    if (!value.ok()) continue;
    try {
      if (!value->contains("units")) {
        answers_[value->at("set").get<Set>()] = edits_of(*value);
        continue;
      }
      const AttemptKey key{JobId(value->at("job").get<std::uint64_t>()),
                           value->at("attempt").get<AttemptNumber>()};
      counted_[key] = {value->at("units").get<Units>(), edits_of(*value)};
      if (!value->contains(kWithoutPlugin)) continue;
      for (const std::string& resource : value->at(kWithoutPlugin).get<std::set<std::string>>()) {
        counted_[key].units.try_emplace(resource);
      }
    } catch (const Json::exception&) {
      continue;
    }
  }
}

void DeviceAllocator::write() const {
  if (path_.empty()) return;
  std::string text;
  for (const auto& [set, edits] : answers_) {
    Json line = edits_json(edits);
    line["set"] = set;
    text += files::kept_line(codec::dump_json(line));
  }
  for (const auto& [key, counted] : counted_) {
    Json line = edits_json(counted.edits);
    line["job"] = key.job.value;
    line["attempt"] = key.attempt;
    // By names of their own: a former version takes an empty list for no units.
    Units known = counted.units;
    std::erase_if(known, [](const auto& one) { return one.second.empty(); });
    for (const auto& [resource, ids] : counted.units) {
      if (ids.empty()) line[kWithoutPlugin].push_back(resource);
    }
    line["units"] = known;
    text += files::kept_line(codec::dump_json(line));
  }
  (void)files::write_atomically(path_, text, 0644);
}

}  // namespace dove::agent
