#include "policies/best_fit.h"

#include <algorithm>
#include <map>

namespace dove::policies {

core::NodeRank BestFit::rank(const core::NodeFree& free) const {
  return {free.gpus_milli, free.cores, free.memory_bytes};
}

// The first coordinate that is too small is raised to what is needed; those after it start over.
core::NodeRank BestFit::skip(const core::NodeRank& from, const core::NodeNeeds& needs) const {
  const core::NodeRank least = rank(needs);
  if (from[0] < least[0]) return least;
  if (from[1] < least[1]) return {from[0], least[1], least[2]};
  if (from[2] < least[2]) return {from[0], from[1], least[2]};
  return from;
}

std::vector<std::int32_t> BestFit::whole_devices(std::span<const core::DeviceOffer> offers,
                                                 std::int32_t count) const {
  std::map<std::int32_t, std::vector<std::int32_t>> by_numa;
  for (const core::DeviceOffer& offer : offers) by_numa[offer.numa_node].push_back(offer.device);
  const std::vector<std::int32_t>* tightest = nullptr;
  const auto wanted = static_cast<std::size_t>(count);
  for (const auto& [numa, devices] : by_numa) {
    if (devices.size() < wanted) continue;
    if (tightest == nullptr || devices.size() < tightest->size()) tightest = &devices;
  }
  if (tightest != nullptr) return {tightest->begin(), tightest->begin() + count};
  std::vector<const std::vector<std::int32_t>*> roomiest_first;
  for (const auto& [numa, devices] : by_numa) roomiest_first.push_back(&devices);
  std::stable_sort(roomiest_first.begin(), roomiest_first.end(),
                   [](const auto* a, const auto* b) { return a->size() > b->size(); });
  std::vector<std::int32_t> chosen;
  for (const auto* devices : roomiest_first) {
    for (std::int32_t device : *devices) {
      if (chosen.size() < wanted) chosen.push_back(device);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::int32_t BestFit::share_device(std::span<const core::DeviceOffer> offers) const {
  const auto fullest = std::min_element(offers.begin(), offers.end(),
                                        [](const core::DeviceOffer& a, const core::DeviceOffer& b) {
                                          return a.free_milli < b.free_milli;
                                        });
  return fullest->device;
}

}  // namespace dove::policies
