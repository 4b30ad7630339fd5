#include "devices/emulated/inventory_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "devices/id_list.h"
#include "model/huge_pages.h"
#include "text/shown.h"
#include "yaml/fields.h"

namespace dove::devices::emulated {
namespace {

constexpr yaml::Limits kLimits{.bytes_max = 1 << 20};
constexpr std::int64_t kCoresMax = 4096;
constexpr std::int64_t kThreadsPerCoreMax = 8;
constexpr std::size_t kNumaNodesMax = 1024;
constexpr std::size_t kFilesMax = 64;  // of a device
constexpr std::size_t kLinksMax = std::size_t{kDevicesMax} * kDevicesMax;
constexpr std::int64_t kMemoryMax_bytes = std::int64_t{1} << 52;
constexpr std::int64_t kAmountMax = std::int64_t{1} << 53;

using List = std::vector<yaml::ValueRef>;

yaml::Fields fields_of(const yaml::Value& map, const char* what) {
  return yaml::Fields(map, what, yaml::Blank::kEmpty);
}

// "512Gi", "64G", "1048576"
Result<std::int64_t> bytes_of(const yaml::Value& value, std::string_view what) {
  std::int64_t amount = 0;
  const char* const last = value.text.data() + value.text.size();
  const auto [end, error] = std::from_chars(value.text.data(), last, amount);
  static const std::vector<std::pair<std::string, std::int64_t>> units = {
      {"", 1},           {"Ki", 1LL << 10},    {"Mi", 1LL << 20},
      {"Gi", 1LL << 30}, {"Ti", 1LL << 40},    {"K", 1'000},
      {"M", 1'000'000},  {"G", 1'000'000'000}, {"T", 1'000'000'000'000}};
  const std::string unit(end, last);
  const auto found = std::find_if(units.begin(), units.end(),
                                  [&](const auto& known_unit) { return known_unit.first == unit; });
  if (error != std::errc() || amount < 0 || found == units.end() ||
      amount > kMemoryMax_bytes / found->second) {
    return yaml::wrong(value, fmt::format("{} '{}' is not an amount of memory such as 512Gi", what,
                                          text::shown(value.text)));
  }
  return amount * found->second;
}

Result<NumaNode> read_numa_node(const yaml::Value& item, std::set<std::int32_t>& seen) {
  NumaNode numa;
  std::string cores;
  yaml::Fields in = fields_of(item, "a NUMA node");
  in.text("cores", cores);
  const yaml::Value* const memory = in.find("memory");
  TRY(in.end());
  const Result<std::vector<std::int32_t>> ids = parse_id_list(cores);
  if (!ids.ok()) return in.wrong("cores", ids.error().message);
  for (const std::int32_t core : *ids) {
    if (core >= CoreSet::kEnd) {
      return in.wrong("cores", fmt::format("core {}: ids go to {}", core, CoreSet::kEnd - 1));
    }
    numa.cores.insert(core);
    if (!seen.insert(core).second) {
      return in.wrong("cores", fmt::format("core {} is in two NUMA nodes", core));
    }
  }
  if (memory != nullptr) {
    TRY_ASSIGN(numa.memory_bytes, bytes_of(*memory, "memory"));
  }
  return numa;
}

Result<void> read_numa(const List& list, Inventory& out) {
  std::set<std::int32_t> seen;
  for (const yaml::ValueRef& item : list) {
    TRY_ASSIGN(NumaNode numa, read_numa_node(*item, seen));
    out.memory_bytes += numa.memory_bytes;
    out.numa.push_back(std::move(numa));
  }
  return {};
}

// The first threads of a NUMA node's cores are numbered before all second ones, as the kernel
// mostly does.
void number_threads(std::int64_t each, Inventory& out) {
  for (const NumaNode& numa : out.numa) {
    const std::vector<std::int32_t> threads(numa.cores.begin(), numa.cores.end());
    const std::size_t cores = threads.size() / static_cast<std::size_t>(each);
    for (std::size_t core = 0; core < cores; ++core) {
      for (std::size_t at = core; at < threads.size(); at += cores) {
        out.thread_order.push_back(threads[at]);
      }
    }
  }
  out.threads_per_core = static_cast<std::int32_t>(each);
}

// What one item of `devices` says; the ids and what is the same in all files come later.
struct DeviceItem {
  Device device;
  std::int64_t count = 1;
  std::vector<std::string> files;
};

Result<DeviceItem> read_device(yaml::Fields& in) {
  DeviceItem out;
  std::int64_t numa_node = 0;
  out.device.kind = "gpu";
  out.device.vendor = "nvidia";
  in.integer("count", out.count, 0, kDevicesMax);
  in.text("kind", out.device.kind);
  in.text("vendor", out.device.vendor);
  in.text("model", out.device.model);
  in.text("uuid", out.device.uuid);
  in.integer("numa_node", numa_node, 0, kNumaNodesMax - 1);
  in.texts("files", out.files, kFilesMax);
  const yaml::Value* const memory = in.find("memory");
  TRY(in.end());
  out.device.numa_node = static_cast<std::int32_t>(numa_node);
  if (memory != nullptr) {
    TRY_ASSIGN(out.device.memory_bytes, bytes_of(*memory, "memory"));
  }
  return out;
}

Result<void> read_devices(const List& list, Inventory& out) {
  std::set<std::string> uuids;
  for (const yaml::ValueRef& item : list) {
    yaml::Fields in = fields_of(*item, "a device");
    TRY_ASSIGN(const DeviceItem each, read_device(in));
    if (each.device.numa_node >= static_cast<std::int32_t>(out.numa.size())) {
      return in.wrong("numa_node", "there is no such NUMA node in this file");
    }
    if (static_cast<std::int64_t>(out.devices.size()) + each.count > kDevicesMax) {
      return in.wrong(fmt::format("a node has at most {} devices", kDevicesMax));
    }
    for (std::int64_t i = 0; i < each.count; ++i) {
      Device device = each.device;
      if (in.find("uuid") == nullptr) {
        device.uuid = fmt::format("GPU-emulated-{}", out.devices.size());
      }
      if (!uuids.insert(device.uuid).second) {
        return in.wrong(fmt::format("uuid {} is another device's", device.uuid));
      }
      out.devices.push_back(std::move(device));
    }
  }
  return {};
}

Result<void> read_links(const List& list, Inventory& out) {
  const auto last = static_cast<std::int64_t>(out.devices.size()) - 1;
  for (const yaml::ValueRef& item : list) {
    Link link;
    yaml::Fields in = fields_of(*item, "a link");
    const List& ends = in.list("devices", 2);
    in.text("kind", link.kind);
    TRY(in.end());
    if (ends.size() != 2) return in.wrong("a link has two devices: devices: [0, 1]");
    if (last < 0) return in.wrong("a link joins devices of this file, which has none");
    TRY_ASSIGN(const std::int64_t a, yaml::integer_of(*ends[0], "a device's id", 0, last));
    TRY_ASSIGN(const std::int64_t b, yaml::integer_of(*ends[1], "a device's id", 0, last));
    link.device_a = static_cast<std::int32_t>(a);
    link.device_b = static_cast<std::int32_t>(b);
    out.links.push_back(std::move(link));
  }
  return {};
}

Result<void> read_countables(const yaml::Value& map, Inventory& out) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const yaml::Value& amount = *map.values[i];
    Countable countable{map.keys[i]->text, 0};
    const std::string what = text::shown(countable.name);
    const std::int64_t page_bytes = huge_page_bytes(countable.name);
    if (page_bytes == 0) {
      TRY_ASSIGN(countable.amount, yaml::integer_of(amount, what, 0, kAmountMax));
    } else {
      TRY_ASSIGN(countable.amount, bytes_of(amount, what));
      if (countable.amount % page_bytes != 0 || countable.amount > kAmountMax) {
        return yaml::wrong(amount, fmt::format("{} '{}' is no whole number of pages, or too many",
                                               what, text::shown(amount.text)));
      }
    }
    out.countables.push_back(std::move(countable));
  }
  std::sort(out.countables.begin(), out.countables.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
  return {};
}

Result<Inventory> read_all(const std::string& text, const std::string& name) {
  TRY_ASSIGN(const yaml::ValueRef root, yaml::read(name, text, kLimits));
  std::int64_t cores = 1;
  std::int64_t threads_per_core = 1;
  yaml::Fields in = fields_of(*root, "an inventory");
  in.integer("cores", cores, 0, kCoresMax);
  in.integer("threads_per_core", threads_per_core, 1, kThreadsPerCoreMax);
  const yaml::Value* const memory = in.find("memory");
  const bool has_numa = in.find("numa") != nullptr;
  const List& numa = in.list("numa", kNumaNodesMax);
  const List& devices = in.list("devices", kDevicesMax);
  const List& links = in.list("links", kLinksMax);
  const yaml::Value* const countables = in.map("countables");
  TRY(in.end());
  Inventory out;
  if (has_numa) {
    if (numa.empty()) return in.wrong("numa", "numa is a list of NUMA nodes, which is empty here");
    TRY(read_numa(numa, out));
  } else {
    NumaNode only;
    for (std::int32_t core = 0; core < cores; ++core) only.cores.insert(core);
    out.numa.push_back(std::move(only));
  }
  for (const NumaNode& one : out.numa) {
    const std::size_t count = one.cores.size();
    if (count % static_cast<std::size_t>(threads_per_core) == 0) continue;
    return in.wrong("threads_per_core", fmt::format("{} cores of a NUMA node are not {} threads "
                                                    "each: `cores` counts hardware threads",
                                                    count, threads_per_core));
  }
  if (threads_per_core > 1) number_threads(threads_per_core, out);
  if (memory != nullptr) {
    TRY_ASSIGN(out.memory_bytes, bytes_of(*memory, "memory"));
  }
  if (out.numa.size() == 1 && out.numa[0].memory_bytes == 0) {
    out.numa[0].memory_bytes = out.memory_bytes;
  }
  TRY(read_devices(devices, out));
  TRY(read_links(links, out));
  if (countables != nullptr) TRY(read_countables(*countables, out));
  return out;
}

}  // namespace

Result<Inventory> parse_inventory(const std::string& text, const std::string& name) {
  Result<Inventory> read = read_all(text, name);
  return read.ok() ? std::move(read) : yaml::coded(read.error(), "inventory");
}

std::vector<std::vector<std::string>> parse_device_files(const std::string& text) {
  std::vector<std::vector<std::string>> files;
  const Result<yaml::ValueRef> root = yaml::read("", text, kLimits);
  if (!root.ok()) return files;
  yaml::Fields in = fields_of(**root, "an inventory");
  for (const yaml::ValueRef& item : in.list("devices", kDevicesMax)) {
    yaml::Fields device = fields_of(*item, "a device");
    const Result<DeviceItem> each = read_device(device);
    if (!each.ok()) return files;
    for (std::int64_t i = 0; i < each->count; ++i) {
      std::vector<std::string> own = each->files;
      for (std::string& path : own) {
        const std::size_t id = path.find("{}");
        if (id != std::string::npos) path.replace(id, 2, std::to_string(files.size()));
      }
      files.push_back(std::move(own));
    }
  }
  return files;
}

Result<Inventory> InventoryFile::inventory() {
  std::ifstream file(path_);
  if (!file) {
    return Error{ErrorKind::kNotFound, "inventory",
                 path_ + " cannot be read; --inventory names a YAML file of devices", path_};
  }
  std::stringstream text;
  text << file.rdbuf();
  return parse_inventory(text.str(), path_);
}

Inventory uniform(std::int32_t cores, std::int64_t memory_bytes, std::int32_t gpus,
                  const std::string& model) {
  Inventory out;
  const std::int32_t nodes = gpus > 1 && cores > 1 ? 2 : 1;
  out.memory_bytes = memory_bytes;
  out.numa.resize(static_cast<std::size_t>(nodes));
  for (std::int32_t core = 0; core < cores; ++core) {
    out.numa[static_cast<std::size_t>(core * nodes / cores)].cores.insert(core);
  }
  for (NumaNode& numa : out.numa) numa.memory_bytes = memory_bytes / nodes;
  for (std::int32_t i = 0; i < gpus; ++i) {
    Device device;
    device.model = model;
    device.uuid = fmt::format("GPU-emulated-{}", i);
    device.memory_bytes = std::int64_t{141} << 30;
    device.numa_node = i * nodes / std::max(gpus, 1);
    out.devices.push_back(std::move(device));
  }
  return out;
}

}  // namespace dove::devices::emulated
