// ShortestLimit: the job with the shortest time limit first, aged so that nothing starves: each
// hour of waiting counts as an hour less. A job without a limit counts as kUnlimited.
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class ShortestLimit final : public core::OrderPolicy {
 public:
  static constexpr Span kUnlimited = seconds(30 * 24 * 3600);
  std::string_view name() const override { return "shortest_limit/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
};

}  // namespace dove::policies
