// Spread evens out: it prefers the node that is used for the smallest part of its devices (of its
// CPU, for tasks without devices), so that tasks disturb each other least and a lost node costs
// little.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class Spread final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "spread/1"; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
