// AttainedService: few levels of GPU-time had so far, the least first, preempting (Tiresias-L, Gu
// et al., NSDI'19, with the two limits of 3 250 and 7 200 GPU-seconds that Muri's simulator has).
//
// Within a level running jobs come before waiting ones, and those that reached it just now last.
// A job that has paused for `promote_after` times what it attained begins again at level 0, so that
// none starves; 0 never promotes, as published.
#pragma once

#include "sim/published/job_order.h"

namespace dove::sim {

class AttainedService final : public JobOrder {
 public:
  explicit AttainedService(std::int64_t promote_after) : promote_after_(promote_after) {}
  std::string_view name() const override {
    return promote_after_ == 0 ? "published_tiresias-l/1" : "published_tiresias-l-promoting/1";
  }
  OrderKey key(const JobView& job, const OrderView& view) const override;
  std::int32_t level(const JobView& job) const override;
  Span settled(const JobView& job) const override;
  bool preempts() const override { return true; }

 private:
  bool promotes(const JobView& job) const;

  std::int64_t promote_after_;
};

}  // namespace dove::sim
