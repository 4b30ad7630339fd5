#include "devices/emulated/inventory_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "devices/id_list.h"
#include "model/huge_pages.h"

namespace dove::devices::emulated {
namespace {

constexpr std::int64_t kNumaNodesMax = 1024;
constexpr std::int64_t kFilesMax = 64;  // of a device
constexpr std::int64_t kMemoryMax_bytes = std::int64_t{1} << 52;

struct Reader {
  std::string name;

  Error wrong(const YAML::Node& at, const std::string& message) const {
    const YAML::Mark mark = at.Mark();
    const std::string place = fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    return Error{ErrorKind::kInvalid, "inventory", place + ": " + message, place};
  }

  Result<void> known(const YAML::Node& map, const std::set<std::string>& keys) const {
    if (!map.IsMap()) return wrong(map, "expected keys and values here");
    for (const auto& entry : map) {
      const auto key = entry.first.as<std::string>("");
      if (keys.count(key) == 0) {
        return wrong(entry.first,
                     fmt::format("unknown key '{}'; known are: {}", key, fmt::join(keys, ", ")));
      }
    }
    return {};
  }

  // A list that may be missing or empty, of at most `most`.
  Result<YAML::Node> list(const YAML::Node& at, std::int64_t most) const {
    if (!at || at.IsNull()) return YAML::Node(YAML::NodeType::Sequence);
    if (!at.IsSequence()) return wrong(at, "expected a list here");
    if (static_cast<std::int64_t>(at.size()) > most) {
      return wrong(at, fmt::format("expected at most {} here", most));
    }
    return at;
  }

  Result<std::int64_t> integer(const YAML::Node& at, std::int64_t most) const {
    std::int64_t value = 0;
    const auto text = at.as<std::string>("");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
      return wrong(at, fmt::format("'{}' is not a whole number from 0 to {}", text, most));
    }
    return value;
  }

  // "512Gi", "64G", "1048576"
  Result<std::int64_t> bytes(const YAML::Node& at) const {
    const auto text = at.as<std::string>("");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    static const std::vector<std::pair<std::string, std::int64_t>> units = {
        {"", 1},           {"Ki", 1LL << 10},    {"Mi", 1LL << 20},
        {"Gi", 1LL << 30}, {"Ti", 1LL << 40},    {"K", 1'000},
        {"M", 1'000'000},  {"G", 1'000'000'000}, {"T", 1'000'000'000'000}};
    const std::string unit(end, text.data() + text.size());
    const auto found = std::find_if(units.begin(), units.end(), [&](const auto& known_unit) {
      return known_unit.first == unit;
    });
    if (error != std::errc() || value < 0 || found == units.end() ||
        value > kMemoryMax_bytes / found->second) {
      return wrong(at, fmt::format("'{}' is not an amount of memory such as 512Gi", text));
    }
    return value * found->second;
  }

  Result<std::vector<std::int32_t>> ids(const YAML::Node& at) const {
    Result<std::vector<std::int32_t>> list = parse_id_list(at.as<std::string>(""));
    if (!list.ok()) return wrong(at, list.error().message);
    return list;
  }
};

Result<void> read_numa(const Reader& read, const YAML::Node& root, Inventory& out) {
  if (root["numa"]) {
    TRY_ASSIGN(const YAML::Node list, read.list(root["numa"], kNumaNodesMax));
    if (list.size() == 0) return read.wrong(root["numa"], "expected NUMA nodes here");
    std::set<std::int32_t> seen;
    for (const YAML::Node& item : list) {
      TRY(read.known(item, {"cores", "memory"}));
      NumaNode numa;
      TRY_ASSIGN(const std::vector<std::int32_t> cores, read.ids(item["cores"]));
      for (std::int32_t core : cores) {
        if (core >= CoreSet::kEnd) {
          return read.wrong(item, fmt::format("core {}: ids go to {}", core, CoreSet::kEnd - 1));
        }
        numa.cores.insert(core);
        if (!seen.insert(core).second) {
          return read.wrong(item, fmt::format("core {} is in two NUMA nodes", core));
        }
      }
      if (item["memory"]) {
        TRY_ASSIGN(numa.memory_bytes, read.bytes(item["memory"]));
      }
      out.memory_bytes += numa.memory_bytes;
      out.numa.push_back(std::move(numa));
    }
  } else {
    std::int64_t cores = 1;
    if (root["cores"]) {
      TRY_ASSIGN(cores, read.integer(root["cores"], 4096));
    }
    NumaNode numa;
    for (std::int32_t core = 0; core < cores; ++core) numa.cores.insert(core);
    out.numa.push_back(std::move(numa));
  }
  if (root["memory"]) {
    TRY_ASSIGN(out.memory_bytes, read.bytes(root["memory"]));
  }
  if (out.numa.size() == 1 && out.numa[0].memory_bytes == 0) {
    out.numa[0].memory_bytes = out.memory_bytes;
  }
  return {};
}

Result<void> read_devices(const Reader& read, const YAML::Node& root, Inventory& out) {
  std::set<std::string> uuids;
  TRY_ASSIGN(const YAML::Node list, read.list(root["devices"], kDevicesMax));
  for (const YAML::Node& item : list) {
    TRY(read.known(item,
                   {"count", "kind", "vendor", "model", "memory", "numa_node", "uuid", "files"}));
    TRY(read.list(item["files"], kFilesMax));
    Device device;
    device.kind = item["kind"].as<std::string>("gpu");
    device.vendor = item["vendor"].as<std::string>("nvidia");
    device.model = item["model"].as<std::string>("");
    std::int64_t count = 1;
    if (item["count"]) {
      TRY_ASSIGN(count, read.integer(item["count"], kDevicesMax));
    }
    if (item["memory"]) {
      TRY_ASSIGN(device.memory_bytes, read.bytes(item["memory"]));
    }
    if (item["numa_node"]) {
      TRY_ASSIGN(const std::int64_t node, read.integer(item["numa_node"], 1023));
      if (node >= static_cast<std::int64_t>(out.numa.size())) {
        return read.wrong(item["numa_node"], "there is no such NUMA node in this file");
      }
      device.numa_node = static_cast<std::int32_t>(node);
    }
    if (static_cast<std::int64_t>(out.devices.size()) + count > kDevicesMax) {
      return read.wrong(item, fmt::format("a node has at most {} devices", kDevicesMax));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      device.uuid =
          item["uuid"].as<std::string>(fmt::format("GPU-emulated-{}", out.devices.size()));
      if (!uuids.insert(device.uuid).second) {
        return read.wrong(item, fmt::format("uuid {} is another device's", device.uuid));
      }
      out.devices.push_back(device);
    }
  }
  return {};
}

Result<void> read_rest(const Reader& read, const YAML::Node& root, Inventory& out) {
  TRY_ASSIGN(const YAML::Node links, read.list(root["links"], kDevicesMax * kDevicesMax));
  for (const YAML::Node& item : links) {
    TRY(read.known(item, {"devices", "kind"}));
    const YAML::Node ends = item["devices"];
    if (!ends.IsSequence() || ends.size() != 2) {
      return read.wrong(item, "a link has two devices: devices: [0, 1]");
    }
    const auto last = static_cast<std::int64_t>(out.devices.size()) - 1;
    TRY_ASSIGN(const std::int64_t a, read.integer(ends[0], last));
    TRY_ASSIGN(const std::int64_t b, read.integer(ends[1], last));
    out.links.push_back(Link{static_cast<std::int32_t>(a), static_cast<std::int32_t>(b),
                             item["kind"].as<std::string>("")});
  }
  const YAML::Node countables = root["countables"];
  if (countables && !countables.IsNull() && !countables.IsMap()) {
    return read.wrong(countables, "expected names and amounts here");
  }
  for (const auto& entry : countables) {
    Countable countable{entry.first.as<std::string>(""), 0};
    const std::int64_t page_bytes = huge_page_bytes(countable.name);
    if (page_bytes == 0) {
      TRY_ASSIGN(countable.amount, read.integer(entry.second, std::int64_t{1} << 53));
    } else {
      TRY_ASSIGN(countable.amount, read.bytes(entry.second));
      if (countable.amount % page_bytes != 0 || countable.amount > std::int64_t{1} << 53) {
        return read.wrong(entry.second, fmt::format("'{}' is no whole number of pages, or too many",
                                                    entry.second.as<std::string>("")));
      }
    }
    out.countables.push_back(std::move(countable));
  }
  std::sort(out.countables.begin(), out.countables.end(),
            [](const Countable& a, const Countable& b) { return a.name < b.name; });
  return {};
}

}  // namespace

Result<Inventory> parse_inventory(const std::string& text, const std::string& name) {
  const Reader read{name};
  if (text.size() > (1u << 20)) {
    return Error{ErrorKind::kTooLarge, "inventory", name + ": over 1 MiB", name};
  }
  try {
    const YAML::Node root = YAML::Load(text);
    TRY(read.known(root, {"cores", "memory", "numa", "devices", "links", "countables"}));
    Inventory out;
    TRY(read_numa(read, root, out));
    TRY(read_devices(read, root, out));
    TRY(read_rest(read, root, out));
    return out;
  } catch (const YAML::Exception& e) {
    const std::string place = fmt::format("{}:{}:{}", name, e.mark.line + 1, e.mark.column + 1);
    return Error{ErrorKind::kInvalid, "inventory", place + ": " + e.msg, place};
  }
}

std::vector<std::vector<std::string>> parse_device_files(const std::string& text) {
  std::vector<std::vector<std::string>> files;
  const YAML::Node root = YAML::Load(text);
  for (const YAML::Node& item : root["devices"]) {
    const int count = item["count"].as<int>(1);
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> own;
      for (const YAML::Node& file : item["files"]) {
        std::string path = file.as<std::string>("");
        const std::size_t id = path.find("{}");
        if (id != std::string::npos) path.replace(id, 2, std::to_string(files.size()));
        own.push_back(std::move(path));
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
