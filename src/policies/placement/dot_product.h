// DotProduct prefers the node whose free CPU and devices point least in the direction of what the
// task asks for, as published with FGD (Weng et al., USENIX ATC'23); a share goes to the tightest
// device.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class DotProduct final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "dot-product/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
