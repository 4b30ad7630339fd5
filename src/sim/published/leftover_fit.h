// LeftoverFit prefers the node that the task leaves the least on, CPU and devices weighing the
// same; a share goes to the tightest device. The published experiments call it BestFit (Weng et
// al., USENIX ATC'23): both amounts are shares of the largest node there (128 cores, 8 devices).
#pragma once

#include "core/place/score.h"

namespace dove::sim {

class LeftoverFit final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "published_best-fit/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::sim
