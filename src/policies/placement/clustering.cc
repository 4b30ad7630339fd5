#include "policies/placement/clustering.h"

#include <algorithm>

namespace dove::policies {
namespace {

class ClusteringScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    if (task.devices == 0) return {0};
    constexpr std::int64_t kMost_milli = 8 * kWholeDevice_milli;
    const std::int64_t used_milli = std::max<std::int64_t>(kMost_milli - node.gpus_milli(), 0);
    const std::int64_t fullness = 25 * used_milli / kMost_milli;
    const std::uint32_t kind = core::kind_of(task);
    if (node.hosts == kind) return {75 + fullness};
    if ((node.hosts & kind) != 0) return {50 + fullness};
    return {(node.hosts == 0 ? 25 : 0) + fullness};
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> Clustering::prepare(std::span<const core::MixEntry>,
                                                        std::span<const core::NodeClass>) const {
  return std::make_unique<ClusteringScorer>();
}

}  // namespace dove::policies
