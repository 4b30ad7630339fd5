// FGD with the rounding errors of its published runs (hkust-adsl/kubernetes-scheduler-simulator).
//
// Taking CPU moves fragmentation between causes and leaves its sum the same; the published program
// adds up doubles by cause, so that the sum may differ in its last bit, and a task without devices
// scores 49 on such a node where 50 is right. It decides ties, and with many kinds of tasks up to
// 0.16 points of the published figure. Everything else is the exact policy's.
#pragma once

#include <memory>
#include <vector>

#include "core/place/score.h"
#include "sim/traces/openb_trace.h"

namespace dove::sim {

class OpenbPublishedFgd final : public core::Scorer {
 public:
  OpenbPublishedFgd(std::unique_ptr<const core::Scorer> exact, const OpenbTrace& trace);

  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override;

 private:
  struct Typical {
    core::TaskShape shape;
    double part = 0;  // of all tasks
  };

  double fragmentation(const core::FreeState& node, std::int64_t cpu_milli) const;

  std::unique_ptr<const core::Scorer> exact_;
  std::vector<Typical> typical_;         // in the order in which the program adds them up
  std::vector<std::int64_t> cpu_steps_;  // ascending: what typical tasks ask for
};

}  // namespace dove::sim
