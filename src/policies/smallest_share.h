// SmallestShare (DRF): the user, and the queue below, with the smallest dominant share is served
// next; a share is the largest part of any resource of the cluster, divided by the queue's weight.
// Recomputed after each launch. Within a user by priority and age.
//
// Source: Ghodsi et al., Dominant Resource Fairness, NSDI 2011.
#pragma once

#include "policies/priority_fifo.h"

namespace dove::policies {

class SmallestShare : public PriorityFifo {
 public:
  std::string_view name() const override { return "drf/1"; }
  core::Basis basis() const override { return core::Basis::kUse; }
  std::int64_t share(const core::ShareView& view) const override;  // billionths per weight
};

}  // namespace dove::policies
