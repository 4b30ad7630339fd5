// Plain policies for the tests of core: the oldest job first, on the first nodes and devices that
// fit.
#pragma once

#include "core/queue/policy.h"

namespace dove::core {

class Oldest final : public OrderPolicy {
 public:
  std::string_view name() const override { return "oldest/1"; }
  std::int64_t rank(const State&, const Job& job) const override { return job.priority; }
};

class FirstFit final : public PlacementPolicy {
 public:
  std::string_view name() const override { return "first_fit/1"; }
  NodeRank rank(const NodeFree&) const override { return {}; }  // so by id
  NodeRank skip(const NodeRank& from, const NodeNeeds&) const override { return from; }
  DeviceIds whole_devices(const DeviceChoice& choice) const override {
    DeviceIds chosen;
    for (std::int32_t i = 0; i < choice.count; ++i) {
      chosen.push_back(choice.offers[static_cast<std::size_t>(i)].device);
    }
    return chosen;
  }
  std::int32_t share_device(const DeviceChoice& choice) const override {
    return choice.offers.front().device;
  }
};

inline const Policies& plain_policies() {
  static const Oldest oldest;
  static const FirstFit first_fit;
  static const Policies policies{&oldest, &first_fit, {&oldest}, {}};
  return policies;
}

}  // namespace dove::core
