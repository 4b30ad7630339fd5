// ShortestRemaining: the job with the least time left first, preempting (SRTF). A job without a
// known duration comes last, the older first.
#pragma once

#include "sim/published/job_order.h"

namespace dove::sim {

class ShortestRemaining final : public JobOrder {
 public:
  std::string_view name() const override { return "published_srtf/1"; }
  OrderKey key(const JobView& job, const OrderView&) const override {
    return {job.remaining.value_or(kForever).us, 0, 0};
  }
  bool preempts() const override { return true; }
};

}  // namespace dove::sim
