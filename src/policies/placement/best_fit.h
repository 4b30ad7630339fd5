// BestFit puts a job on the nodes that it leaves the least on, devices first.
//
// Shares go to the fullest device that has room, beside enough free cores where there are several;
// whole devices are those with the best links to one another (core/place/device_set.h).
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class BestFit final : public core::PlacementPolicy {
 public:
  std::string_view name() const override { return "best_fit/2"; }
  core::NodeRank rank(const core::NodeFree& free) const override;
  core::NodeRank skip(const core::NodeRank& from, const core::NodeNeeds& needs) const override;
  core::DeviceIds whole_devices(const core::DeviceChoice& choice) const override;
  std::int32_t share_device(const core::DeviceChoice& choice) const override;
};

}  // namespace dove::policies
