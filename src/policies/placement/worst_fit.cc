#include "policies/placement/worst_fit.h"

namespace dove::policies {
namespace {

// More than any node has: devices come first.
constexpr std::int64_t kCpuLimit_milli = std::int64_t{1} << 40;

class WorstFitScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    core::Score best{node.gpus_milli() * kCpuLimit_milli + node.cpu_milli};
    if (!task.is_share()) return best;
    std::int32_t most_milli = 0;
    for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
      if (node.devices_milli[i] <= most_milli) continue;
      most_milli = node.devices_milli[i];
      best.device = static_cast<std::int32_t>(i);
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> WorstFit::prepare(std::span<const core::MixEntry>,
                                                      std::span<const core::NodeClass>) const {
  return std::make_unique<WorstFitScorer>();
}

}  // namespace dove::policies
