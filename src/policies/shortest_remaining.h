// ShortestRemaining: the job with the least time left first, preempting (SRTF). A job without a
// known duration comes last, the older first.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class ShortestRemaining final : public core::JobOrder {
 public:
  std::string_view name() const override { return "srtf/1"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView&) const override {
    return {job.remaining.value_or(kForever).us, 0, 0};
  }
  bool preempts() const override { return true; }
};

}  // namespace dove::policies
