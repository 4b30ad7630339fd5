// PriorityLifo: the higher priority first, then the younger job.
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class PriorityLifo final : public core::OrderPolicy {
 public:
  std::string_view name() const override { return "priority_lifo/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
};

}  // namespace dove::policies
