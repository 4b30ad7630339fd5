#include "policies/placement/dot_product.h"

namespace dove::policies {
namespace {

// What the largest node has.
constexpr std::int64_t kCpu_milli = 128'000;
constexpr std::int64_t kGpus_milli = 8 * kWholeDevice_milli;

class DotProductScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    // 100 * (1 - (cpu / kCpu_milli^2 + gpus / kGpus_milli^2) / 2), cut to whole ones
    const std::int64_t cpu = node.cpu_milli * task.cpu_milli;
    const std::int64_t gpus = node.gpus_milli() * task.gpus_milli();
    constexpr std::int64_t kRatio = (kCpu_milli / kGpus_milli) * (kCpu_milli / kGpus_milli);
    constexpr std::int64_t kUnit = 2 * kCpu_milli * kCpu_milli;
    return {100 * (kUnit - cpu - gpus * kRatio) / kUnit};
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> DotProduct::prepare(std::span<const core::MixEntry>,
                                                        std::span<const core::NodeClass>) const {
  return std::make_unique<DotProductScorer>();
}

}  // namespace dove::policies
