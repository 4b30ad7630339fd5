// FirstCome: the older job first.
#pragma once

#include "sim/published/job_order.h"

namespace dove::sim {

class FirstCome final : public JobOrder {
 public:
  std::string_view name() const override { return "published_fifo/1"; }
  OrderKey key(const JobView& job, const OrderView&) const override {
    return {job.submitted_at.us, job.sequence, 0};
  }
};

}  // namespace dove::sim
