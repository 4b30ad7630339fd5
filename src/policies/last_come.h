// LastCome: the newer job first, as Backend.AI's `lifo`.
#pragma once

#include "core/queue/order.h"

namespace dove::policies {

class LastCome final : public core::JobOrder {
 public:
  std::string_view name() const override { return "lifo/1"; }
  core::OrderKey key(const core::JobView& job, const core::OrderView&) const override {
    return {-job.submitted_at.us, -job.sequence, 0};
  }
};

}  // namespace dove::policies
