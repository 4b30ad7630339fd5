// Clustering brings tasks of one kind together: best on a node with that kind only, then beside
// others, then on an idle node (as published with FGD, Weng et al., USENIX ATC'23); a share goes to
// the tightest device.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class Clustering final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "clustering/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
