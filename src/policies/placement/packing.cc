#include "policies/placement/packing.h"

#include <algorithm>

namespace dove::policies {
namespace {

class PackingScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    if (task.devices == 0) return {0};
    const std::int64_t whole = node.whole_devices();
    if (whole == node.node_class.devices) return {std::max(33 - whole, whole)};
    if (!task.is_share()) return {std::max<std::int64_t>(50 - task.devices, 33)};
    const std::int32_t device = core::tightest_device(node, task);
    const std::int64_t free_milli = node.devices_milli[static_cast<std::size_t>(device)];
    if (free_milli == kWholeDevice_milli) return {49, device};
    return {100 - free_milli / 10 / 10, device};
  }
};

}  // namespace

std::unique_ptr<const core::Scorer> Packing::prepare(std::span<const core::MixEntry>,
                                                     std::span<const core::NodeClass>) const {
  return std::make_unique<PackingScorer>();
}

}  // namespace dove::policies
