#include "devices/nvml/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "devices/model_name.h"
#include "devices/nvml/reading.h"
#include "devices/nvml/slicing.h"

namespace dove::devices::nvml {
namespace {

constexpr unsigned kNvlinks_max = 18;
constexpr std::string_view kSwitch = "switch";
constexpr unsigned long long kXidEvent = 8;
constexpr int kEventsAtATime = 64;

std::string text_of(Status (*get)(Handle, char*, unsigned), Handle gpu) {
  char text[96] = {};
  return get(gpu, text, sizeof text) == kSuccess ? text : "";
}

// NVML writes "00000000:18:00.0"; the kernel and hwloc write four digits of the domain.
std::string bus_id_of(const PciInfo& pci) {
  std::string id = pci.bus_id;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id.size() == 16 ? id.substr(4) : id;
}

// Links to a switch lead to every GPU on it, as many as both have.
std::string nvlinks(const std::vector<std::string>& of_a, const std::vector<std::string>& of_b,
                    const std::string& bus_id_b) {
  const auto direct = std::count(of_a.begin(), of_a.end(), bus_id_b);
  const auto switched = std::min(std::count(of_a.begin(), of_a.end(), kSwitch),
                                 std::count(of_b.begin(), of_b.end(), kSwitch));
  return direct + switched > 0 ? fmt::format("NV{}", direct + switched) : "";
}

std::string path_name(unsigned level) {
  switch (level) {
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "";
  }
}

}  // namespace

Gpus::Gpus(std::string library_path, std::string capabilities)
    : path_(std::move(library_path)), capabilities_(std::move(capabilities)) {}
Gpus::~Gpus() { close(); }

void Gpus::close() {
  if (library_ != nullptr && events_ != nullptr) library_->call().event_set_free(events_);
  events_ = nullptr;
  gpus_.clear();
  activity_.reset();
  library_.reset();
}

Result<void> Gpus::open() {
  if (library_ != nullptr) return {};
  TRY_ASSIGN(library_, Library::open(path_));
  activity_ = std::make_unique<Activity>(*library_);
  const Calls& call = library_->call();
  char version[96] = {};
  if (call.driver_version != nullptr && call.driver_version(version, sizeof version) == kSuccess) {
    driver_version_ = version;
  }
  const bool has_events = call.event_set != nullptr && call.event_set_free != nullptr &&
                          call.register_events != nullptr && call.wait_event != nullptr;
  if (has_events && call.event_set(&events_) != kSuccess) events_ = nullptr;
  return {};
}

Result<FoundDevices> Gpus::find() {
  if (Result<void> opened = open(); !opened.ok()) {
    close();
    if (opened.error().kind == ErrorKind::kNotFound) return FoundDevices{};
    return opened.error();
  }
  const Calls& call = library_->call();
  unsigned count = 0;
  if (const Status status = call.count(&count); status != kSuccess) {
    Error error = library_->failed("the NVIDIA driver went away", status);
    close();
    return error;
  }
  const std::vector<Gpu> before = std::move(gpus_);
  gpus_.clear();
  std::vector<std::pair<Gpu, FoundDevice>> all;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    PciInfo pci{};
    Memory memory{};
    if (call.by_index(i, &gpu.handle) != kSuccess) continue;
    gpu.uuid = text_of(call.uuid, gpu.handle);
    gpu.name = text_of(call.name, gpu.handle);
    // One that fell off the bus still has a handle, but answers nothing.
    if (gpu.uuid.empty() || call.pci(gpu.handle, &pci) != kSuccess ||
        call.memory(gpu.handle, &memory) != kSuccess) {
      continue;
    }
    gpu.pci_bus_id = bus_id_of(pci);
    if (call.minor_number == nullptr || call.minor_number(gpu.handle, &gpu.minor) != kSuccess) {
      gpu.minor = i;
    }
    const bool is_new = std::none_of(before.begin(), before.end(), [&](const Gpu& old) {
      return old.uuid == gpu.uuid && old.handle == gpu.handle;
    });
    if (is_new) register_events(gpu.handle);
    FoundDevice device;
    device.device = Device{
        "gpu", "nvidia", short_model(gpu.name), gpu.uuid, static_cast<std::int64_t>(memory.total),
        -1};
    device.pci_bus_id = gpu.pci_bus_id;
    device.is_cut = is_mig(*library_, gpu.handle);
    device.files = {fmt::format("/dev/nvidia{}", gpu.minor), "/dev/nvidiactl", "/dev/nvidia-uvm",
                    "/dev/nvidia-uvm-tools"};
    all.emplace_back(std::move(gpu), std::move(device));
  }
  // The order of the files in /dev, by which Slurm counts (gres.conf). NVML's is that of the bus.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first.minor < b.first.minor; });
  FoundDevices found;
  for (auto& [gpu, device] : all) {
    found.devices.push_back(std::move(device));
    gpus_.push_back(std::move(gpu));
  }
  find_links(found);
  return found;
}

void Gpus::register_events(Handle gpu) {
  if (events_ != nullptr) library_->call().register_events(gpu, kXidEvent, events_);
}

// What is at the other end of each active NVLink: a GPU's bus id, or a switch.
std::vector<std::string> Gpus::nvlink_peers(const Gpu& gpu) const {
  const Calls& call = library_->call();
  std::vector<std::string> peers;
  if (call.nvlink_state == nullptr || call.nvlink_remote == nullptr) return peers;
  for (unsigned link = 0; link < kNvlinks_max; ++link) {
    unsigned active = 0;
    PciInfo remote{};
    if (call.nvlink_state(gpu.handle, link, &active) != kSuccess || active == 0) continue;
    if (call.nvlink_remote(gpu.handle, link, &remote) != kSuccess) continue;
    const std::string id = bus_id_of(remote);
    const bool is_gpu = std::any_of(gpus_.begin(), gpus_.end(),
                                    [&](const Gpu& other) { return other.pci_bus_id == id; });
    peers.push_back(is_gpu ? id : std::string(kSwitch));
  }
  return peers;
}

void Gpus::find_links(FoundDevices& found) const {
  const Calls& call = library_->call();
  std::vector<std::vector<std::string>> peers;
  for (const Gpu& gpu : gpus_) peers.push_back(nvlink_peers(gpu));
  for (std::size_t a = 0; a < gpus_.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
      std::string kind = nvlinks(peers[a], peers[b], gpus_[b].pci_bus_id);
      unsigned level = 0;
      if (kind.empty() && call.common_ancestor != nullptr &&
          call.common_ancestor(gpus_[a].handle, gpus_[b].handle, &level) == kSuccess) {
        kind = path_name(level);
      }
      if (!kind.empty()) found.links.push_back({gpus_[a].uuid, gpus_[b].uuid, std::move(kind)});
    }
  }
}

void Gpus::take_xids(std::map<Handle, std::vector<std::int64_t>>& xids) {
  if (events_ == nullptr) return;
  EventData event{};
  for (int i = 0; i < kEventsAtATime; ++i) {
    if (library_->call().wait_event(events_, &event, 0) != kSuccess) return;
    if (event.type == kXidEvent) {
      xids[event.device].push_back(static_cast<std::int64_t>(event.data));
    }
  }
}

std::vector<DeviceSample> Gpus::sample() {
  std::vector<DeviceSample> samples;
  if (library_ == nullptr) return samples;
  std::map<Handle, std::vector<std::int64_t>> xids;
  take_xids(xids);
  for (const Gpu& gpu : gpus_) {
    DeviceSample sample;
    sample.uuid = gpu.uuid;
    sample.pci_bus_id = gpu.pci_bus_id;
    sample.model = gpu.name;
    sample.driver_version = driver_version_;
    sample.xids = xids[gpu.handle];
    if (!read_values(*library_, gpu.handle, sample)) continue;
    activity_->read(gpu.uuid, gpu.handle, sample);
    std::int64_t& last_xid = last_xids_[gpu.uuid];
    if (!sample.xids.empty()) last_xid = sample.xids.back();
    sample.values.emplace_back(Field::kXid, static_cast<double>(last_xid));
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<CutSlices> Gpus::arrange(const std::string& uuid, const std::vector<SlicePlace>& places) {
  for (const Gpu& gpu : gpus_) {
    if (gpu.uuid != uuid) continue;
    const std::string capabilities = fmt::format("{}/gpu{}", capabilities_, gpu.minor);
    return arrange_slices(*library_, gpu.handle, places, capabilities);
  }
  return Error{ErrorKind::kUnavailable, "device_lost",
               fmt::format("GPU {} does not answer; `nvidia-smi` and `dmesg` say more", uuid), ""};
}

}  // namespace dove::devices::nvml
