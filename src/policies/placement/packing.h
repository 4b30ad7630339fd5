// Packing fills shared devices first, then idle devices of nodes in use, then idle nodes, the
// smaller the better (as published with FGD, Weng et al., USENIX ATC'23); a share goes to the
// tightest device.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class Packing final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "packing/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
