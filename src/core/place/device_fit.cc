#include "core/place/device_fit.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "core/state/cores.h"

namespace dove::core {
namespace {

constexpr std::string_view kGpu = "gpu";

// ASCII only: the names come from drivers and job files, and a locale must not change a decision.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_model(const std::string& asked, const std::string& found) {
  return std::equal(asked.begin(), asked.end(), found.begin(), found.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

// "A|B" asks for either.
bool is_of_model(const std::string& asked, const std::string& found) {
  if (asked.find('|') == std::string::npos) return same_model(asked, found);
  for (std::size_t begin = 0; begin <= asked.size();) {
    const std::size_t end = std::min(asked.find('|', begin), asked.size());
    if (same_model(asked.substr(begin, end - begin), found)) return true;
    begin = end + 1;
  }
  return false;
}

// How devices are cut for one profile; devices of equal model follow one another.
class Cuts {
 public:
  struct Cut {
    const SliceTable* table = nullptr;
    const SliceProfile* profile = nullptr;  // null: the device cannot be cut so
  };

  explicit Cuts(const std::string& name) : name_(name) {}

  const Cut& of(const Device& device) {
    // slice_table compares names; a node's devices are nearly always equal, so the last answer is
    // kept.
    if (last_ != nullptr && last_->memory_bytes == device.memory_bytes &&
        last_->model == device.model) {
      return cut_;
    }
    last_ = &device;
    cut_.table = slice_table(device);
    cut_.profile = cut_.table == nullptr ? nullptr : find_profile(*cut_.table, name_);
    return cut_;
  }

 private:
  const std::string& name_;
  const Device* last_ = nullptr;
  Cut cut_;
};

SlotSet slots_of_device(std::span<const SlotSet> slots_taken, std::size_t device) {
  return device < slots_taken.size() ? slots_taken[device] : 0;
}

// Free cores of each device's NUMA node; all of them where that is not known.
class CoresBeside {
 public:
  CoresBeside(const Inventory& inventory, const CoreSet& cores, bool wanted)
      : all_(static_cast<std::int32_t>(cores.size())) {
    // One NUMA node: all cores are beside all devices, and nothing has to be counted.
    if (wanted && inventory.numa.size() > 1) by_numa_ = count_cores(inventory, cores);
  }
  std::int32_t of(const Device& device) const {
    const auto numa = static_cast<std::size_t>(device.numa_node);
    // Drivers report -1 where the firmware says nothing: such a device is near to no cores more
    // than to others.
    return device.numa_node >= 0 && numa < by_numa_.size() ? by_numa_[numa] : all_;
  }

 private:
  std::int32_t all_;
  CoreCounts by_numa_;
};

// One search for one request.
class Taking {
 public:
  Taking(const Inventory& inventory, DeviceBooks& books, const DeviceWish& wish,
         const Request& request)
      : inventory_(inventory), books_(books), wish_(wish), request_(request) {}

  bool allocate_whole(const PlacementPolicy& policy, std::vector<DeviceGrant>& out) {
    // As many as there are, not `gpus` of them: which ones to take is for the policy to choose.
    const Offers whole = offers(kWholeDevice_milli, request_.gpus);
    if (static_cast<std::int32_t>(whole.size()) < request_.gpus) return false;
    out.reserve(out.size() + static_cast<std::size_t>(request_.gpus));
    for (std::int32_t device : policy.whole_devices(
             {inventory_, whole, request_.gpus, wish_.cores_wanted, wish_.affinity})) {
      books_.free_milli[static_cast<std::size_t>(device)] -= kWholeDevice_milli;
      out.push_back({device, kWholeDevice_milli, {}});
    }
    return true;
  }

  bool allocate_share(const PlacementPolicy& policy, std::vector<DeviceGrant>& out) {
    const Offers roomy = offers(request_.share_milli, 1);
    if (roomy.empty()) return false;
    const std::int32_t device =
        policy.share_device({inventory_, roomy, 1, wish_.cores_wanted, wish_.affinity});
    books_.free_milli[static_cast<std::size_t>(device)] -= request_.share_milli;
    out.push_back({device, request_.share_milli, {}});
    return true;
  }

  bool allocate_slices(std::vector<DeviceGrant>& out) {
    // Checked first for all slices together. Taking some and finding no place for the next would
    // leave the books half changed.
    if (device_capacity({inventory_, books_.free_milli, books_.slots_taken, wish_.cores}, request_,
                        1) == 0) {
      return false;
    }
    books_.slots_taken.resize(books_.free_milli.size());
    Cuts cuts(request_.slice);
    const CoresBeside beside(inventory_, wish_.cores, wish_.cores_wanted > 0);
    // One after the other: where the first slice lies decides where the next can.
    for (std::int32_t i = 0; i < request_.slices; ++i) out.push_back(allocate_slice(cuts, beside));
    return true;
  }

 private:
  using Offers = ShortList<DeviceOffer, 8>;

  // With the cores beside them where there are more than `wanted` to choose from.
  Offers offers(std::int32_t at_least_milli, std::int32_t wanted) const {
    Offers found;
    found.reserve(books_.free_milli.size());
    for (std::size_t i = 0; i < books_.free_milli.size(); ++i) {
      const Device& device = inventory_.devices[i];
      const std::int32_t milli = books_.free_milli[i];
      // A sliced device is closed to whole and shared use, however much of it is free: MIG mode is
      // one or the other.
      if (milli < at_least_milli || is_sliced(books_.slots_taken, i)) continue;
      if (!matches(request_, device)) continue;
      found.push_back({static_cast<std::int32_t>(i), device.numa_node, milli, 0});
    }
    // There is no choice to make, so nobody needs to know the cores beside.
    if (found.size() <= static_cast<std::size_t>(wanted)) return found;
    const CoresBeside beside(inventory_, wish_.cores, wish_.cores_wanted > 0);
    for (DeviceOffer& offer : found) {
      offer.cores_free = beside.of(inventory_.devices[static_cast<std::size_t>(offer.device)]);
    }
    return found;
  }

  DeviceGrant allocate_slice(Cuts& cuts, const CoresBeside& beside) {
    // An idle device comes last, so that whole ones stay whole. Places lost: at some starts a slice
    // shuts out more of the larger slices that could still follow than at others.
    std::array<std::int64_t, 4> best{};
    DeviceGrant chosen;
    for (std::size_t i = 0; i < books_.free_milli.size(); ++i) {
      const Device& device = inventory_.devices[i];
      const SlotSet taken = books_.slots_taken[i];
      if (books_.free_milli[i] <= 0) continue;
      // It is shared: what is free of it is not to be sliced.
      if (taken == 0 && books_.free_milli[i] < kWholeDevice_milli) continue;
      if (!matches(request_, device)) continue;
      const Cuts::Cut& cut = cuts.of(device);
      if (cut.profile == nullptr) continue;
      const auto place = best_place(*cut.table, *cut.profile, taken);
      if (!place) continue;
      const std::int32_t lost =
          places_left(*cut.table, taken) - places_left(*cut.table, taken | slots_of(*place));
      const std::array<std::int64_t, 4> key = {taken == 0, beside.of(device) < wish_.cores_wanted,
                                               lost, books_.free_milli[i]};
      if (chosen.is_slice() && best <= key) continue;
      best = key;
      chosen = {static_cast<std::int32_t>(i), share_milli_of(*cut.table, *cut.profile), *place};
    }
    CHECK(chosen.is_slice(), "capacity promised this slice");
    const auto device = static_cast<std::size_t>(chosen.device);
    // Both books: slots say what can be cut, thousandths what limits and users are charged.
    books_.slots_taken[device] |= slots_of(chosen.slice);
    books_.free_milli[device] -= chosen.share_milli;
    return chosen;
  }

  const Inventory& inventory_;
  DeviceBooks& books_;
  const DeviceWish& wish_;
  const Request& request_;
};

}  // namespace

bool matches(const Request& request, const Device& device) {
  // Jobs ask only for GPUs in this way; NICs and others come as countables or by affinity.
  if (std::string_view(device.kind) != kGpu) return false;
  if (!request.gpu_model.empty() && !is_of_model(request.gpu_model, device.model)) return false;
  return device.memory_bytes >= request.gpu_memory_bytes;
}

bool wants_devices(const Request& request) {
  return request.gpus > 0 || request.share_milli > 0 || request.slices > 0;
}

bool is_sliced(std::span<const SlotSet> slots_taken, std::size_t device) {
  return slots_of_device(slots_taken, device) != 0;
}

std::int32_t device_capacity(const DeviceView& free, const Request& request, std::int32_t most) {
  std::int64_t fits = 0;
  // No more is counted than is asked for: this runs for every node of a search.
  const std::int64_t enough = std::int64_t{most} * std::max({request.gpus, request.slices, 1});
  Cuts cuts(request.slice);
  for (std::size_t i = 0; i < free.free_milli.size() && fits < enough; ++i) {
    const Device& device = free.inventory.devices[i];
    const std::int32_t milli = free.free_milli[i];
    if (milli <= 0 || !matches(request, device)) continue;
    const SlotSet taken = slots_of_device(free.slots_taken, i);
    if (request.slices > 0) {
      const Cuts::Cut& cut = cuts.of(device);
      if (cut.profile == nullptr || (taken == 0 && milli < kWholeDevice_milli)) continue;
      // Where a promise and a victim overlap, less is free than there are slots.
      const std::int32_t share = share_milli_of(*cut.table, *cut.profile);
      fits += std::min((milli + share - 1) / share, slices_left(*cut.profile, taken));
    } else if (taken == 0) {
      fits += request.gpus > 0 ? milli / kWholeDevice_milli : milli / request.share_milli;
    }
  }
  // Slices of one task may lie on several devices, whole GPUs anyway: so the sum is divided, not
  // each device's count.
  if (request.gpus > 0) fits /= request.gpus;
  if (request.slices > 0) fits /= request.slices;
  return static_cast<std::int32_t>(std::min<std::int64_t>(most, fits));
}

bool allocate_devices(const Inventory& inventory, DeviceBooks& books, const DeviceWish& wish,
                      const Request& request, const PlacementPolicy& policy,
                      std::vector<DeviceGrant>& out) {
  Taking taking(inventory, books, wish, request);
  if (request.gpus > 0) return taking.allocate_whole(policy, out);
  if (request.share_milli > 0) return taking.allocate_share(policy, out);
  if (request.slices > 0) return taking.allocate_slices(out);
  return true;
}

}  // namespace dove::core
