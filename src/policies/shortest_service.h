// ShortestService: the job with the least GPU-time left first, preempting (SRSF, as in Tiresias,
// NSDI'19). A job without a known duration comes last.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class ShortestService final : public core::JobOrder {
 public:
  std::string_view name() const override { return "srsf/1"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView&) const override {
    if (!job.remaining) return {kForever.us, 0, 0};
    const __int128 left = static_cast<__int128>(job.remaining->us) * job.size_milli / 1000;
    return {left > kForever.us ? kForever.us : static_cast<std::int64_t>(left), 0, 0};
  }
  bool preempts() const override { return true; }
};

}  // namespace dove::policies
