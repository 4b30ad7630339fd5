// BestFit puts a job on the nodes that it leaves the least on, devices first.
//
// Shares go to the fullest device that has room; whole devices come from one NUMA node where they
// can, from the one with the fewest free.
#pragma once

#include "core/policy.h"

namespace dove::policies {

class BestFit final : public core::PlacementPolicy {
 public:
  std::string_view name() const override { return "best_fit/1"; }
  core::NodeRank rank(const core::NodeFree& free) const override;
  core::NodeRank skip(const core::NodeRank& from, const core::NodeNeeds& needs) const override;
  std::vector<std::int32_t> whole_devices(std::span<const core::DeviceOffer> offers,
                                          std::int32_t count) const override;
  std::int32_t share_device(std::span<const core::DeviceOffer> offers) const override;
};

}  // namespace dove::policies
