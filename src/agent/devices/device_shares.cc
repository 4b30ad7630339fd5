#include "agent/devices/device_shares.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "containers/place.h"

namespace dove::agent {
namespace {

constexpr const char kDirectoryInside[] = "/dev/.dove-shares";

bool is_share(const DeviceGrant& grant) {
  return !grant.is_slice() && grant.share_milli < kWholeDevice_milli;
}

// nullptr: not one that can be held to a share.
const Device* device_of(const Inventory& inventory, const DeviceGrant& grant) {
  const auto index = static_cast<std::size_t>(grant.device);
  if (index >= inventory.devices.size()) return nullptr;
  const Device& device = inventory.devices[index];
  return device.vendor == "nvidia" && device.memory_bytes > 0 ? &device : nullptr;
}

std::int64_t share_bytes(const Device& device, std::int64_t milli) {
  const std::int64_t whole = device.memory_bytes / kWholeDevice_milli * milli;
  return whole + device.memory_bytes % kWholeDevice_milli * milli / kWholeDevice_milli;
}

std::int64_t milli_of(const std::vector<DeviceGrant>& grants, std::int32_t device) {
  std::int64_t milli = 0;
  for (const DeviceGrant& grant : grants) milli += grant.device == device ? grant.share_milli : 0;
  return std::min<std::int64_t>(milli, kWholeDevice_milli);
}

// FNV-1a: tells a task from the attempt's others.
std::uint32_t number_of(const std::string& mark) {
  std::uint32_t number = 2166136261U;
  for (const char c : mark) number = (number ^ static_cast<unsigned char>(c)) * 16777619U;
  return number;
}

// "GPU-…=24159191040:48318382080,…" in the order in which CUDA shows them.
std::string caps_text(const Inventory& inventory, const Placement& placement,
                      const std::vector<DeviceGrant>& grants) {
  std::vector<std::string> caps;
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const Device* device = device_of(inventory, grants[i]);
    const bool again = i > 0 && grants[i - 1].device == grants[i].device;
    if (device == nullptr || again) continue;
    const std::int64_t own = milli_of(grants, grants[i].device);
    const std::int64_t all = std::max(own, milli_of(placement.devices, grants[i].device));
    caps.push_back(fmt::format("{}={}:{}", device->uuid, share_bytes(*device, own),
                               share_bytes(*device, all)));
  }
  return fmt::format("{}", fmt::join(caps, ","));
}

void add_mps(const ShareOptions& options, const Inventory& inventory,
             const std::vector<DeviceGrant>& grants, TaskPlan& plan) {
  std::vector<std::string> limits;
  std::int64_t least_milli = kWholeDevice_milli;
  for (const DeviceGrant& grant : grants) {
    const Device* device = device_of(inventory, grant);
    if (device == nullptr || !is_share(grant)) continue;
    least_milli = std::min<std::int64_t>(least_milli, grant.share_milli);
    const bool has_uuid = device->uuid.starts_with("GPU-");
    limits.push_back(fmt::format("{}={}M", has_uuid ? device->uuid : std::to_string(grant.device),
                                 share_bytes(*device, grant.share_milli) >> 20));
  }
  plan.environment["CUDA_MPS_PIPE_DIRECTORY"] = options.mps_directory;
  plan.environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = std::to_string((least_milli + 9) / 10);
  plan.environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt::format("{}", fmt::join(limits, ","));
}

void add_library(const ShareOptions& options, const std::string& caps,
                 const std::string& attempt_directory, TaskPlan& plan) {
  std::string library = options.library;
  std::string directory = shares_directory(attempt_directory);
  if (!plan.container.image.empty()) {
    plan.shared.push_back({library, containers::kShares, false});
    plan.shared.push_back({directory, kDirectoryInside, true, true});
    library = containers::kShares;
    directory = kDirectoryInside;
  }
  const auto [preload, is_alone] = plan.environment.try_emplace("LD_PRELOAD", library);
  if (!is_alone) preload->second = library + ":" + preload->second;
  plan.environment["DOVE_SHARE_CAPS"] = caps;
  plan.environment["DOVE_SHARE_FILE"] = directory + "/memory";
  plan.environment["DOVE_SHARE_TASK"] = std::to_string(number_of(plan.mark));
}

}  // namespace

const char* word(ShareKeeper keeper) {
  switch (keeper) {
    case ShareKeeper::kNone:
      return "";
    case ShareKeeper::kNobody:
      return "nobody";
    case ShareKeeper::kLibrary:
      return "library";
    case ShareKeeper::kMps:
      return "mps";
  }
  return "";
}

bool mps_runs(const std::string& directory) {
  if (directory.empty()) return false;
  std::ifstream file(directory + "/nvidia-cuda-mps-control.pid");
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0) return false;
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

ShareKeeper share_keeper(const ShareOptions& options, const Inventory& inventory,
                         const std::vector<DeviceGrant>& grants, bool contained) {
  if (std::none_of(grants.begin(), grants.end(), is_share)) return ShareKeeper::kNone;
  const bool can = std::all_of(grants.begin(), grants.end(), [&](const DeviceGrant& grant) {
    return !is_share(grant) || device_of(inventory, grant) != nullptr;
  });
  if (!can) return ShareKeeper::kNobody;
  if (!contained && mps_runs(options.mps_directory)) return ShareKeeper::kMps;
  return options.library.empty() ? ShareKeeper::kNobody : ShareKeeper::kLibrary;
}

std::string shares_directory(const std::string& attempt_directory) {
  return attempt_directory + "/shares";
}

void hold_to_share(const ShareOptions& options, const Inventory& inventory,
                   const Placement& placement, const std::vector<DeviceGrant>& grants,
                   const std::string& attempt_directory, TaskPlan& plan) {
  const bool contained = !plan.container.image.empty();
  const ShareKeeper keeper = share_keeper(options, inventory, grants, contained);
  if (keeper == ShareKeeper::kNone) return;
  plan.environment["DOVE_DEVICE_SHARE_BY"] = word(keeper);
  if (keeper == ShareKeeper::kMps) add_mps(options, inventory, grants, plan);
  if (keeper == ShareKeeper::kNobody || options.library.empty()) return;
  add_library(options, caps_text(inventory, placement, grants), attempt_directory, plan);
}

}  // namespace dove::agent
