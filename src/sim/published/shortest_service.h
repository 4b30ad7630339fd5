// ShortestService: the job with the least GPU-time left first, preempting (SRSF, as in Tiresias,
// NSDI'19). A job without a known duration comes last.
#pragma once

#include "sim/published/job_order.h"

namespace dove::sim {

class ShortestService final : public JobOrder {
 public:
  std::string_view name() const override { return "published_srsf/1"; }
  OrderKey key(const JobView& job, const OrderView&) const override {
    if (!job.remaining) return {kForever.us, 0, 0};
    const __int128 left = static_cast<__int128>(job.remaining->us) * job.size_milli / 1000;
    return {left > kForever.us ? kForever.us : static_cast<std::int64_t>(left), 0, 0};
  }
  bool preempts() const override { return true; }
};

}  // namespace dove::sim
