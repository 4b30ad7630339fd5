#include "devices/nvml/slicing.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace dove::devices::nvml {
namespace {

// NVML numbers its kinds of profile from 0; later releases add some, and refuse those they lack.
constexpr unsigned kProfileKinds = 16;
constexpr unsigned kSharedEngines = 0;
constexpr unsigned kInstances_max = 16;

struct Instance {
  Handle handle = nullptr;
  unsigned id = 0;
  SlicePlace place;
};

Error cannot_cut(const Library& library, const std::string& what, Status status) {
  Error error = library.failed(what, status);
  error.code = status == kInUse ? "device_in_use" : "cannot_cut";
  return error;
}

bool can_slice(const Calls& call) {
  return call.mig_mode != nullptr && call.set_mig_mode != nullptr &&
         call.instance_profile != nullptr && call.possible_placements != nullptr &&
         call.create_instance != nullptr && call.destroy_instance != nullptr &&
         call.instances != nullptr && call.instance_info != nullptr &&
         call.compute_profile != nullptr && call.create_compute != nullptr &&
         call.destroy_compute != nullptr && call.computes != nullptr &&
         call.slice_count_max != nullptr && call.slice_by_index != nullptr &&
         call.slice_instance != nullptr;
}

// Calls `use(profile)` with each profile of the GPU until it returns true.
template <class Use>
bool find_profile(const Calls& call, Handle gpu, Use use) {
  for (unsigned kind = 0; kind < kProfileKinds; ++kind) {
    InstanceProfile profile{};
    if (call.instance_profile(gpu, kind, &profile) == kSuccess && use(profile)) return true;
  }
  return false;
}

Result<std::vector<Instance>> instances_of(const Library& library, Handle gpu) {
  const Calls& call = library.call();
  std::vector<Instance> found;
  Status failed = kSuccess;
  find_profile(call, gpu, [&](const InstanceProfile& profile) {
    Handle handles[kInstances_max] = {};
    unsigned count = kInstances_max;
    failed = call.instances(gpu, profile.id, handles, &count);
    for (unsigned i = 0; failed == kSuccess && i < count; ++i) {
      InstanceInfo info{};
      failed = call.instance_info(handles[i], &info);
      found.push_back({handles[i], info.id,
                       SlicePlace{static_cast<std::int32_t>(info.placement.start),
                                  static_cast<std::int32_t>(info.placement.size),
                                  static_cast<std::int32_t>(profile.slices)}});
    }
    return failed != kSuccess;
  });
  if (failed != kSuccess) return cannot_cut(library, "the slices of a GPU cannot be read", failed);
  return found;
}

Result<void> destroy(const Library& library, const Instance& instance) {
  const Calls& call = library.call();
  for (unsigned kind = 0; kind < kProfileKinds; ++kind) {
    ComputeProfile profile{};
    if (call.compute_profile(instance.handle, kind, kSharedEngines, &profile) != kSuccess) continue;
    Handle computes[kInstances_max] = {};
    unsigned count = kInstances_max;
    if (call.computes(instance.handle, profile.id, computes, &count) != kSuccess) continue;
    for (unsigned i = 0; i < count; ++i) {
      if (const Status status = call.destroy_compute(computes[i]); status != kSuccess) {
        return cannot_cut(library, "a slice that is to go is in use", status);
      }
    }
  }
  if (const Status status = call.destroy_instance(instance.handle); status != kSuccess) {
    return cannot_cut(library, "a slice cannot be removed", status);
  }
  return {};
}

bool may_lie_at(const Calls& call, Handle gpu, const InstanceProfile& profile,
                const SlicePlace& place) {
  if (profile.slices != static_cast<unsigned>(place.compute)) return false;
  Placement legal[2 * kInstances_max] = {};
  unsigned count = 2 * kInstances_max;
  if (call.possible_placements(gpu, profile.id, legal, &count) != kSuccess) return false;
  return std::any_of(legal, legal + count, [&](const Placement& one) {
    return one.start == static_cast<unsigned>(place.start) &&
           one.size == static_cast<unsigned>(place.size);
  });
}

// All processors of the slice in one compute instance.
Result<void> make_compute(const Library& library, Handle instance, std::int32_t compute) {
  const Calls& call = library.call();
  for (unsigned kind = 0; kind < kProfileKinds; ++kind) {
    ComputeProfile profile{};
    if (call.compute_profile(instance, kind, kSharedEngines, &profile) != kSuccess ||
        profile.slices != static_cast<unsigned>(compute)) {
      continue;
    }
    Handle computes[kInstances_max] = {};
    unsigned count = kInstances_max;
    if (call.computes(instance, profile.id, computes, &count) == kSuccess && count > 0) return {};
    Handle made = nullptr;
    const Status status = call.create_compute(instance, profile.id, &made);
    if (status == kSuccess) return {};
    return cannot_cut(library, "a slice's processors cannot be set up", status);
  }
  return cannot_cut(library, "a slice has no profile for all of its processors", kNotFound);
}

Result<Instance> make(const Library& library, Handle gpu, const SlicePlace& place) {
  const Calls& call = library.call();
  Status status = kNotFound;
  Instance made;
  made.place = place;
  find_profile(call, gpu, [&](const InstanceProfile& profile) {
    if (!may_lie_at(call, gpu, profile, place)) return false;
    const Placement at{static_cast<unsigned>(place.start), static_cast<unsigned>(place.size)};
    status = call.create_instance(gpu, profile.id, &at, &made.handle);
    return true;
  });
  if (status != kSuccess) {
    return cannot_cut(library,
                      fmt::format("no slice of {} memory slots from {} with {} of processors",
                                  place.size, place.start, place.compute),
                      status);
  }
  InstanceInfo info{};
  if (status = call.instance_info(made.handle, &info); status != kSuccess) {
    return cannot_cut(library, "a new slice cannot be read", status);
  }
  made.id = info.id;
  return made;
}

// "DeviceFileMinor: 3" of a capability's file; nothing where drivers know none.
void add_capability(const std::string& path, std::vector<std::string>& files) {
  std::ifstream file(path);
  std::string word;
  unsigned minor = 0;
  while (file >> word) {
    if (word == "DeviceFileMinor:" && file >> minor) {
      files.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor));
      return;
    }
  }
}

// The last word of "NVIDIA H200 MIG 1g.18gb".
std::string profile_of(const Calls& call, Handle slice) {
  char name[96] = {};
  if (call.name(slice, name, sizeof name) != kSuccess) return "";
  const std::string_view text = name;
  constexpr std::string_view kBefore = " MIG ";
  const std::size_t at = text.rfind(kBefore);
  return at == std::string_view::npos ? "" : std::string(text.substr(at + kBefore.size()));
}

Result<CutSlice> read_slice(const Library& library, Handle gpu, const Instance& instance,
                            const std::string& capabilities) {
  const Calls& call = library.call();
  unsigned most = 0;
  call.slice_count_max(gpu, &most);
  for (unsigned i = 0; i < most; ++i) {
    Handle slice = nullptr;
    unsigned id = 0;
    char uuid[96] = {};
    if (call.slice_by_index(gpu, i, &slice) == kSuccess &&
        call.slice_instance(slice, &id) == kSuccess && id == instance.id &&
        call.uuid(slice, uuid, sizeof uuid) == kSuccess) {
      CutSlice found;
      found.name = uuid;
      found.instance = id;
      found.profile = profile_of(call, slice);
      const std::string folder = fmt::format("{}/mig/gi{}", capabilities, id);
      add_capability(folder + "/access", found.files);
      unsigned compute = 0;
      if (call.slice_compute != nullptr && call.slice_compute(slice, &compute) == kSuccess) {
        add_capability(fmt::format("{}/ci{}/access", folder, compute), found.files);
      }
      return found;
    }
  }
  return cannot_cut(library, "a new slice has no name", kNotFound);
}

Result<void> set_mode(const Library& library, Handle gpu, bool wanted) {
  const Calls& call = library.call();
  if (is_mig(library, gpu) == wanted) return {};
  Status done = kSuccess;
  const Status status = call.set_mig_mode(gpu, wanted ? 1 : 0, &done);
  if (status != kSuccess) return cannot_cut(library, "MIG cannot be switched", status);
  if (done == kSuccess && is_mig(library, gpu) == wanted) return {};
  return cannot_cut(library,
                    "MIG is switched only with the next reset of the GPU: drain the node and run "
                    "`nvidia-smi --gpu-reset`",
                    done == kSuccess ? kResetRequired : done);
}

}  // namespace

bool is_mig(const Library& library, Handle gpu) {
  unsigned now = 0;
  unsigned after_reset = 0;
  const Calls& call = library.call();
  return call.mig_mode != nullptr && call.mig_mode(gpu, &now, &after_reset) == kSuccess && now == 1;
}

Result<CutSlices> arrange_slices(const Library& library, Handle gpu,
                                 const std::vector<SlicePlace>& places,
                                 const std::string& capabilities) {
  if (!can_slice(library.call())) {
    if (places.empty()) return CutSlices{};
    return cannot_cut(library, "this driver cannot cut GPUs into slices (MIG)", kNotFound);
  }
  if (!places.empty()) TRY(set_mode(library, gpu, true));
  std::vector<Instance> kept;
  if (is_mig(library, gpu)) {
    TRY_ASSIGN(const std::vector<Instance> found, instances_of(library, gpu));
    for (const Instance& instance : found) {
      if (std::find(places.begin(), places.end(), instance.place) != places.end()) {
        kept.push_back(instance);
      } else {
        TRY(destroy(library, instance));
      }
    }
  }
  if (places.empty()) {
    TRY(set_mode(library, gpu, false));
    return CutSlices{};
  }
  CutSlices slices;
  for (const SlicePlace& place : places) {
    auto at = std::find_if(kept.begin(), kept.end(),
                           [&](const Instance& instance) { return instance.place == place; });
    if (at == kept.end()) {
      TRY_ASSIGN(Instance made, make(library, gpu, place));
      at = kept.insert(kept.end(), made);
    }
    TRY(make_compute(library, at->handle, place.compute));
    TRY_ASSIGN(CutSlice slice, read_slice(library, gpu, *at, capabilities));
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace dove::devices::nvml
