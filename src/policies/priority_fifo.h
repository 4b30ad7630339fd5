// PriorityFifo: the higher priority first (the job's and its queue's, added), then the older job.
#pragma once

#include "core/queue/policy.h"

namespace dove::policies {

class PriorityFifo : public core::OrderPolicy {
 public:
  std::string_view name() const override { return "priority_fifo/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
};

}  // namespace dove::policies
