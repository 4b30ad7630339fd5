// WorstFit prefers the node with the most devices idle, then the most CPU; a share goes to the
// emptiest device.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class WorstFit final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "worst-fit/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
