// Fgd places a task where it adds the least fragmentation (Fragmentation Gradient Descent, Weng et
// al., USENIX ATC'23).
//
// The score is the published one, 0 to 100: the sigmoid of the devices saved, in hundredths, cut
// to whole ones, so that small differences are ties. It is a step function of a rational number:
// the steps are found once for a mix.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class Fgd final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "fgd/1"; }
  core::Learns learns() const override { return core::Learns::kTasks; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
