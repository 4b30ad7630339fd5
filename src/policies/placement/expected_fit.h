// ExpectedFit keeps what is left on nodes useful to the tasks to expect. Our own; the standard one.
//
// A task of the mix can use a node's idle devices in two ways, and both count. Now: all idle milli
// of devices large enough for it, if one of it fits, as in Fragmentation; this is nine tenths. To
// the end: what copies of it alone would take before CPU or devices run out, which says that
// devices without the CPU to feed them, and remainders too small for another share, are worth
// little; one tenth. A task goes where the mean over the mix falls least. Gains within a hundredth
// of a device are ties, so that small differences do not scatter tasks over nodes that are all but
// equal; and so are those within the error of a mix of few tasks, half a device over the root of
// their number at most.
//
// The models that tasks name are left out of this: a device is as useful as its size and its node's
// CPU make it. Were they counted, tasks that name none would fill the models that few tasks name,
// as little seems lost there, and those few would find no place later (bench/openb_default: 0.3 to
// 0.6 points more unallocated than FGD where a third name a model; without them 1.7 to 2.4 less).
//
// Where every task of the mix takes whole devices, and no node runs short of CPU before its devices
// are taken, there is nothing to keep useful: it leaves such jobs to the usual
// placement, which costs less.
#pragma once

#include "core/place/score.h"

namespace dove::policies {

class ExpectedFit final : public core::ScorePolicy {
 public:
  std::string_view name() const override { return "expected_fit/3"; }
  std::string_view former_name() const override { return "useful_rest"; }
  core::Learns learns() const override { return core::Learns::kSizes; }
  std::unique_ptr<const core::Scorer> prepare(
      std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const override;
};

}  // namespace dove::policies
