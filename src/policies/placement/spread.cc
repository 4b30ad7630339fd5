#include "policies/placement/spread.h"

#include <algorithm>

namespace dove::policies {
namespace {

constexpr std::int64_t kParts = 1'000'000;

std::int64_t idle_part(std::int64_t idle, std::int64_t all) {
  return all == 0 ? 0 : idle * kParts / all;
}

class SpreadScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    const core::NodeClass& whole = node.node_class;
    if (task.devices == 0) return {idle_part(node.cpu_milli, whole.cpu_milli)};
    const auto most = std::max_element(node.devices_milli.begin(), node.devices_milli.end());
    return {idle_part(node.gpus_milli(), std::int64_t{whole.devices} * kWholeDevice_milli),
            static_cast<std::int32_t>(most - node.devices_milli.begin())};
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> Spread::prepare(std::span<const core::MixEntry>,
                                                    std::span<const core::NodeClass>) const {
  return std::make_unique<SpreadScorer>();
}

}  // namespace dove::policies
