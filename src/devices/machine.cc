#include "devices/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "devices/huge_pages.h"
#include "files/text_file.h"

namespace dove::devices {
Machine::Machine(std::unique_ptr<Host> host,
                 std::vector<std::unique_ptr<Accelerators>> accelerators, std::string ids_path,
                 std::string boot_id)
    : host_(std::move(host)),
      accelerators_(std::move(accelerators)),
      ids_path_(std::move(ids_path)),
      boot_id_(std::move(boot_id)) {
  read_ids();
}

// The boot's id, then one device a line: uuid, vendor, model, bytes of memory, NUMA node.
void Machine::read_ids() {
  if (ids_path_.empty()) return;
  std::ifstream file(ids_path_);
  std::string line;
  if (!std::getline(file, line) || line != boot_id_) return;
  while (std::getline(file, line)) {
    std::stringstream words(line);
    Device device;
    device.kind = kLost;
    std::getline(words, device.uuid, '\t');
    std::getline(words, device.vendor, '\t');
    std::getline(words, device.model, '\t');
    words >> device.memory_bytes >> device.numa_node;
    if (words.fail()) return;  // the rest is numbered anew
    known_.push_back(std::move(device));
  }
}

void Machine::write_ids() const {
  if (ids_path_.empty()) return;
  std::string text = boot_id_ + "\n";
  for (const Device& device : known_) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", device.uuid, device.vendor, device.model,
                        device.memory_bytes, device.numa_node);
  }
  (void)files::write_atomically(ids_path_, text, 0644);
}

std::int32_t Machine::id_of(const FoundDevice& found, Accelerators& family) {
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Device& device) {
    return device.uuid == found.device.uuid && device.vendor == found.device.vendor;
  });
  const auto id = static_cast<std::int32_t>(same - known_.begin());
  if (same == known_.end()) known_.emplace_back();
  families_.resize(known_.size());
  families_[static_cast<std::size_t>(id)] = &family;
  Device& device = known_[static_cast<std::size_t>(id)];
  device = found.device;
  return id;
}

// The machine's own word comes first.
static void add_countables(const std::vector<Countable>& more, std::vector<Countable>& all) {
  for (const Countable& one : more) {
    const auto at = std::lower_bound(
        all.begin(), all.end(), one.name,
        [](const Countable& known, const std::string& name) { return known.name < name; });
    if (at == all.end() || at->name != one.name) all.insert(at, one);
  }
}

static void take_huge_pages(HugePages found, const std::vector<Countable>& kept,
                            Inventory& inventory) {
  for (Countable& one : found.offered) {
    inventory.memory_bytes = std::max<std::int64_t>(inventory.memory_bytes - one.amount, 0);
    for (const Countable& own : kept) {
      if (own.name == one.name) one.amount -= std::min(own.amount, one.amount);
    }
  }
  std::erase_if(found.offered, [](const Countable& one) { return one.amount == 0; });
  add_countables(found.offered, inventory.countables);
  if (found.node_bytes.size() != inventory.numa.size()) return;
  for (std::size_t i = 0; i < inventory.numa.size(); ++i) {
    std::int64_t& left_bytes = inventory.numa[i].memory_bytes;
    left_bytes = std::max<std::int64_t>(left_bytes - found.node_bytes[i], 0);
  }
}

Result<Inventory> Machine::inventory() {
  TRY_ASSIGN(Inventory inventory, host_->inventory());
  if (!pages_root_.empty()) take_huge_pages(find_huge_pages(pages_root_), pages_kept_, inventory);
  const std::size_t before = known_.size();
  for (Device& device : known_) device.kind = kLost;
  driver_errors_.clear();
  cut_.clear();
  files_.assign(known_.size(), {});
  std::map<std::int32_t, std::string> bus_ids;
  std::vector<Link> links;
  for (const auto& family : accelerators_) {
    Result<FoundDevices> found = family->find();
    if (!found.ok()) {
      driver_errors_.push_back(found.error());
      continue;
    }
    add_countables(found->countables, inventory.countables);
    std::map<std::string, std::int32_t> ids;
    for (const FoundDevice& one : found->devices) {
      // A plug-in may report what its vendor's driver has reported already.
      const bool is_known = std::any_of(known_.begin(), known_.end(), [&](const Device& device) {
        return device.kind != kLost && device.uuid == one.device.uuid &&
               device.vendor == one.device.vendor;
      });
      if (is_known) continue;
      const std::int32_t id = id_of(one, *family);
      Device& device = known_[static_cast<std::size_t>(id)];
      if (device.numa_node < 0) device.numa_node = host_->numa_of(one.pci_bus_id);
      if (!one.pci_bus_id.empty()) bus_ids[id] = one.pci_bus_id;
      if (one.is_cut) cut_.push_back(id);
      files_.resize(known_.size());
      files_[static_cast<std::size_t>(id)] = one.files;
      ids[one.device.uuid] = id;
    }
    for (const FoundLink& link : found->links) {
      const auto a = ids.find(link.uuid_a);
      const auto b = ids.find(link.uuid_b);
      if (a == ids.end() || b == ids.end() || a->second == b->second) continue;
      links.push_back({std::min(a->second, b->second), std::max(a->second, b->second), link.kind});
    }
  }
  for (auto a = bus_ids.begin(); a != bus_ids.end(); ++a) {  // the vendor's word comes first
    for (auto b = std::next(a); b != bus_ids.end(); ++b) {
      const bool told = std::any_of(links.begin(), links.end(), [&](const Link& link) {
        return link.device_a == a->first && link.device_b == b->first;
      });
      const std::string kind = told ? "" : host_->path(a->second, b->second);
      if (!kind.empty()) links.push_back({a->first, b->first, kind});
    }
  }
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::tie(a.device_a, a.device_b, a.kind) < std::tie(b.device_a, b.device_b, b.kind);
  });
  std::sort(cut_.begin(), cut_.end());
  if (known_.size() != before) write_ids();
  find_fabric(bus_ids);
  inventory.devices.insert(inventory.devices.end(), known_.begin(), known_.end());
  inventory.links.insert(inventory.links.end(), links.begin(), links.end());
  return inventory;
}

void Machine::find_fabric(const std::map<std::int32_t, std::string>& bus_ids) {
  fabric_ = {};
  if (sys_root_.empty()) return;
  fabric_.cards = find_cards(sys_root_);
  fabric_.storage_files = find_direct_storage(sys_root_);
  fabric_.paths.resize(known_.size());
  for (const auto& [id, bus_id] : bus_ids) {
    for (const Card& card : fabric_.cards) {
      fabric_.paths[static_cast<std::size_t>(id)].push_back(
          card.pci_bus_id.empty() ? "" : host_->path(bus_id, card.pci_bus_id));
    }
  }
}

std::vector<DeviceSample> Machine::sample() {
  std::vector<DeviceSample> samples;
  for (const auto& family : accelerators_) {
    for (DeviceSample& sample : family->sample()) samples.push_back(std::move(sample));
  }
  return samples;
}

Result<CutSlices> Machine::arrange(std::int32_t device, const std::vector<SlicePlace>& places) {
  const auto index = static_cast<std::size_t>(device);
  if (device < 0 || index >= families_.size() || known_[index].kind == kLost) {
    return Error{ErrorKind::kUnavailable, "device_lost",
                 fmt::format("device {} is not in this machine at the moment", device), ""};
  }
  return families_[index]->arrange(known_[index].uuid, places);
}

}  // namespace dove::devices
