// DominantShare: the account with the least dominant share first, then its older job (DRF, Ghodsi
// et al., NSDI'11). The caller brings the share up to date after each start.
#pragma once

#include "sim/published/job_order.h"

namespace dove::sim {

class DominantShare final : public JobOrder {
 public:
  std::string_view name() const override { return "published_drf/1"; }
  OrderKey key(const JobView& job, const OrderView&) const override {
    return {job.account.share_ppm, job.submitted_at.us, job.sequence};
  }
};

}  // namespace dove::sim
