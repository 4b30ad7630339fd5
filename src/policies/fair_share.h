// FairShare: the user, and the queue below, with the least past use is served next; use decays
// with the cluster's fair_share_half_life, what is held now included, divided by the queue's
// weight. One that never used anything comes first. Within a user by priority and age.
#pragma once

#include "policies/priority_fifo.h"

namespace dove::policies {

class FairShare final : public PriorityFifo {
 public:
  std::string_view name() const override { return "fair_share/1"; }
  core::Basis basis() const override { return core::Basis::kPastUse; }
  std::int64_t share(const core::ShareView& view) const override {
    return view.past_milli_ms / view.weight;
  }
};

}  // namespace dove::policies
