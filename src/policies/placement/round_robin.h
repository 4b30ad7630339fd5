// RoundRobin takes the next node with room, in the order of nodes and around its end; a share goes
// to the tightest device.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class RoundRobin final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "round-robin/1"; }
  core::Ties ties() const override { return core::Ties::kNext; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
