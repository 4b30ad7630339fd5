// UsefulRest keeps what is left on nodes useful to the tasks to expect. Our own; the standard one.
//
// A task of the mix can use a node's idle devices in two ways, and both count. Now: all idle milli
// of devices large enough for it, if one of it fits, as in Fragmentation; this is nine tenths. To
// the end: what copies of it alone would take before CPU or devices run out, which says that
// devices without the CPU to feed them, and remainders too small for another share, are worth
// little; one tenth. A task goes where the mean over the mix falls least. Gains within a hundredth
// of a device are ties, so that small differences do not scatter tasks over nodes that are all but
// equal.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class UsefulRest final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "useful_rest/1"; }
  bool learns() const override { return true; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
