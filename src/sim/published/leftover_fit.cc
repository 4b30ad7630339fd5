#include "sim/published/leftover_fit.h"

namespace dove::sim {
namespace {

// The largest node's.
constexpr std::int64_t kCpu_milli = 128'000;
constexpr std::int64_t kGpus_milli = 8 * kWholeDevice_milli;

class LeftoverFitScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    // 100 * (1 - cpu / (2 * kCpu_milli) - gpus / (2 * kGpus_milli)), cut to whole ones
    const std::int64_t cpu = node.cpu_milli - task.cpu_milli;
    const std::int64_t gpus = node.gpus_milli() - task.gpus_milli();
    constexpr std::int64_t kUnit = 2 * kCpu_milli * kGpus_milli;
    return {100 * (kUnit - cpu * kGpus_milli - gpus * kCpu_milli) / kUnit};
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> LeftoverFit::prepare(std::span<const core::MixEntry>,
                                                         std::span<const core::NodeClass>) const {
  return std::make_unique<LeftoverFitScorer>();
}

}  // namespace dove::sim
