// FirstCome: the older job first.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class FirstCome final : public core::JobOrder {
 public:
  std::string_view name() const override { return "fifo/1"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView&) const override {
    return {job.submitted_at.us, job.sequence, 0};
  }
};

}  // namespace dove::policies
