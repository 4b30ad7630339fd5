#include "agent/devices/device_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "agent/devices/own_lines.h"
#include "devices/sys_files.h"
#include "files/kept_lines.h"
#include "files/text_file.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using devices::Field;

constexpr std::size_t kFileBytes_max = 1 << 20;
constexpr double kSlowedALot = 0.5;  // of the time between two looks
constexpr double kSlowedSome = 0.1;
constexpr int kCalmLooks = 6;

struct Counter {
  const char* file;
  std::int64_t most;  // in one look
};

// For each port: what is allowed between two looks.
constexpr Counter kPortErrors[] = {
    {"counters/link_downed", 0},
    {"counters/link_error_recovery", 0},
    {"counters/local_link_integrity_errors", 0},
    {"counters/symbol_error", 10},
    {"counters/port_rcv_errors", 10},
    {"counters/excessive_buffer_overrun_errors", 0},
    {"hw_counters/packet_seq_err", 1'000},
    {"hw_counters/local_ack_timeout_err", 100},
};

// "NV18": 18; other kinds of paths: 0.
std::int32_t nvlinks_of(const std::string& kind) {
  std::int32_t count = 0;
  if (kind.starts_with("NV")) std::from_chars(kind.data() + 2, kind.data() + kind.size(), count);
  return count;
}

}  // namespace

DeviceHealth::DeviceHealth(std::string sys_root, std::string path)
    : sys_root_(std::move(sys_root)), path_(std::move(path)) {
  read();
}

std::vector<Finding> DeviceHealth::look(const devices::Sighting& seen, std::int64_t now_us) {
  told_.clear();
  const auto& devices = seen.inventory.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const auto at = std::find_if(seen.samples.begin(), seen.samples.end(), [&](const auto& sample) {
      return sample.uuid == devices[i].uuid;
    });
    if (at == seen.samples.end() || devices[i].kind == devices::kLost) continue;
    look_at_memory(*at, id);
    look_at_clocks(*at, id, now_us);
    look_at_lanes(*at, id);
  }
  look_at_links(seen.inventory);
  look_at_ports();
  if (!told_.empty()) write();
  return std::move(told_);
}

void DeviceHealth::judge(Finding finding) {
  const Key key{finding.check, finding.device};
  calm_looks_.erase(key);
  const auto known = open_.find(key);
  if ((known == open_.end() ? Severity::kGood : known->second) == finding.severity) return;
  if (finding.severity == Severity::kGood) {
    open_.erase(key);
  } else {
    open_[key] = finding.severity;
  }
  told_.push_back(std::move(finding));
}

void DeviceHealth::good(const std::string& check, std::int32_t device) {
  judge({check, Severity::kGood, Remedy::kNone, device, ""});
}

void DeviceHealth::calm(const std::string& check, std::int32_t device) {
  const Key key{check, device};
  if (open_.count(key) == 0 || ++calm_looks_[key] < kCalmLooks) return;
  good(check, device);
}

void DeviceHealth::look_at_memory(const devices::DeviceSample& sample, std::int32_t device) {
  const double* errors = sample.find(Field::kEccDoubleVolatile);
  if (errors != nullptr && *errors > 0) {
    judge({"memory_errors", Severity::kFault, Remedy::kReset, device,
           fmt::format("{:.0f} memory errors that could not be corrected since the driver was "
                       "loaded or the device reset",
                       *errors)});
  } else if (errors != nullptr) {
    good("memory_errors", device);
  }
  const double* pending = sample.find(Field::kRemapPending);
  if (pending != nullptr && *pending > 0) {
    judge({"row_remap_pending", Severity::kWarning, Remedy::kReset, device,
           "a row of memory is replaced at the next reset of the device"});
  } else if (pending != nullptr) {
    good("row_remap_pending", device);
  }
}

// Both counters are the time for which the device ran slower for that reason.
void DeviceHealth::look_at_clocks(const devices::DeviceSample& sample, std::int32_t device,
                                  std::int64_t now_us) {
  const double* heat = sample.find(Field::kThermalViolation);
  const double* power = sample.find(Field::kPowerViolation);
  Slowed now{heat == nullptr ? 0 : *heat, power == nullptr ? 0 : *power, now_us};
  const auto [at, is_first] = slowed_.try_emplace(sample.uuid, now);
  const Slowed before = std::exchange(at->second, now);
  const double passed_ns = static_cast<double>(now_us - before.at_us) * 1'000;
  if (is_first || passed_ns <= 0) return;
  const auto judge_part = [&](const char* check, double part, Severity worst, const char* why) {
    if (part < kSlowedSome) return calm(check, device);
    judge({check, part >= kSlowedALot ? worst : Severity::kWarning, Remedy::kNone, device,
           fmt::format("slowed down {} for {:.0f} % of the time{}", why, part * 100,
                       sample.find(Field::kTemperature) == nullptr
                           ? ""
                           : fmt::format(", at {:.0f} °C", *sample.find(Field::kTemperature)))});
  };
  if (heat != nullptr) {
    judge_part("thermal", (now.heat_ns - before.heat_ns) / passed_ns, Severity::kFault,
               "by its temperature");
  }
  if (power != nullptr) {
    judge_part("power", (now.power_ns - before.power_ns) / passed_ns, Severity::kWarning,
               "by its power limit");
  }
}

// Measured by what both ends can: a narrow slot is no fault.
void DeviceHealth::look_at_lanes(const devices::DeviceSample& sample, std::int32_t device) {
  if (sample.pci_bus_id.empty()) return;
  const fs::path folder = fs::path(sys_root_) / "bus/pci/devices" / sample.pci_bus_id;
  const auto now = devices::first_number(folder / "current_link_width");
  const auto most = devices::first_number(folder / "max_link_width");
  if (!now || !most || *now == 0) return;
  std::error_code error;
  const fs::path bridge = fs::canonical(folder, error).parent_path();
  const std::int64_t wanted =
      std::min(*most, devices::first_number(bridge / "max_link_width").value_or(*most));
  if (*now >= wanted) return good("pcie_width", device);
  judge({"pcie_width", Severity::kFault, Remedy::kReboot, device,
         fmt::format("{} of {} PCIe lanes are in use", *now, wanted)});
}

void DeviceHealth::look_at_links(const Inventory& inventory) {
  std::map<std::int32_t, std::int32_t> now;
  for (const Link& link : inventory.links) {
    for (const std::int32_t device : {link.device_a, link.device_b}) {
      now[device] += nvlinks_of(link.kind);
    }
  }
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    // With one end lost the other one has fewer links, and the lost one is reported already.
    const bool lost = std::any_of(inventory.devices.begin(), inventory.devices.end(),
                                  [](const Device& one) { return one.kind == devices::kLost; });
    if (lost) return;
    const auto id = static_cast<std::int32_t>(i);
    std::int32_t& most = links_[id];
    most = std::max(most, now[id]);
    if (most == 0) continue;
    if (now[id] >= most) {
      good("nvlink", id);
      continue;
    }
    judge({"nvlink", Severity::kFault, Remedy::kReset, id,
           fmt::format("{} of {} NVLinks to the other devices are up", now[id], most)});
  }
}

void DeviceHealth::look_at_ports() {
  const fs::path all = fs::path(sys_root_) / "class/infiniband";
  for (const std::string& card : devices::names_in(all)) {
    for (const std::string& port : devices::names_in(all / card / "ports"))
      look_at_port(card, port);
  }
}

// A port that was never active is one that nobody has cabled.
void DeviceHealth::look_at_port(const std::string& card, const std::string& port) {
  const fs::path folder = fs::path(sys_root_) / "class/infiniband" / card / "ports" / port;
  const std::string name = card + "/" + port;
  const bool is_ethernet = devices::first_line(folder / "link_layer") == "Ethernet";
  const std::string what = is_ethernet ? "RoCE" : "InfiniBand";
  const std::string state = devices::first_line(folder / "state");  // "4: ACTIVE"
  bool& was_active = was_active_[name];
  const bool is_active = state.find("ACTIVE") != std::string::npos;
  was_active = was_active || is_active || open_.count({"port:" + name, -1}) != 0;
  if (is_active) {
    good("port:" + name, -1);
  } else if (was_active) {
    judge({"port:" + name, Severity::kFault, Remedy::kNone, -1,
           fmt::format("{} port {} was active and is now '{}', its link '{}'", what, name, state,
                       devices::first_line(folder / "phys_state"))});
  }
  std::string grown;
  for (const Counter& counter : kPortErrors) {
    const auto now = devices::first_number(folder / counter.file);
    if (!now) continue;
    const auto [at, is_first] = errors_.try_emplace(name + "/" + counter.file, *now);
    const std::int64_t more = *now - std::exchange(at->second, *now);
    if (is_first || more <= counter.most) continue;
    const std::string file = counter.file;
    grown += fmt::format("{}{} grew by {}", grown.empty() ? "" : ", ",
                         file.substr(file.find('/') + 1), more);
  }
  if (grown.empty()) return calm("port_errors:" + name, -1);
  judge({"port_errors:" + name, Severity::kWarning, Remedy::kNone, -1,
         fmt::format("{} port {}: {}", what, name, grown)});
}

// A line each: severity, device, check.
void DeviceHealth::read() {
  if (path_.empty()) return;
  for (const std::string& line : read_own_lines(path_, kFileBytes_max)) {
    std::istringstream words(line);
    int severity = 0;
    std::int32_t device = -1;
    std::string check;
    if (!(words >> severity >> device >> check) || severity < 1 ||
        severity > static_cast<int>(Severity::kCritical)) {
      continue;
    }
    open_[{check, device}] = static_cast<Severity>(severity);
  }
}

void DeviceHealth::write() const {
  if (path_.empty()) return;
  std::string text;
  for (const auto& [key, severity] : open_) {
    text += files::kept_line(
        fmt::format("{} {} {}", static_cast<int>(severity), key.second, key.first));
  }
  (void)files::write_atomically(path_, text, 0644);
}

}  // namespace dove::agent
