// RandomFit takes any node with room, each as likely, and of that any device with room for a share.
#pragma once

#include "core/place/score.h"

namespace dove::sim {

class RandomFit final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "published_random/1"; }
  core::Ties ties() const override { return core::Ties::kRandom; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::sim
