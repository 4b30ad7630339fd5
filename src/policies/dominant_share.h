// DominantShare: the account with the least dominant share first, then its older job (DRF, Ghodsi
// et al., NSDI'11). The caller brings the share up to date after each start.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class DominantShare final : public core::JobOrder {
 public:
  std::string_view name() const override { return "drf/1"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView&) const override {
    return {job.account.share_ppm, job.submitted_at.us, job.sequence};
  }
};

}  // namespace dove::policies
