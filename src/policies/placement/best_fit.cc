#include "policies/placement/best_fit.h"

#include <algorithm>
#include <utility>

#include "core/place/device_set.h"

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

core::DeviceIds BestFit::whole_devices(const core::DeviceChoice& choice) const {
  return core::closest_devices(choice);
}

std::int32_t BestFit::share_device(const core::DeviceChoice& choice) const {
  const auto key = [&](const core::DeviceOffer& offer) {
    return std::pair(offer.free_milli, offer.cores_free < choice.cores);
  };
  const auto fullest = std::min_element(
      choice.offers.begin(), choice.offers.end(),
      [&](const core::DeviceOffer& a, const core::DeviceOffer& b) { return key(a) < key(b); });
  return fullest->device;
}

}  // namespace dove::policies
