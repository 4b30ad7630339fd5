#include "policies/placement/useful_rest.h"

#include <algorithm>

#include "policies/placement/copies.h"
#include "policies/placement/fragmentation.h"

namespace dove::policies {
namespace {

// Of what one more task could use, and what copies would take: nine to one.
constexpr std::int64_t kNowParts = 9;
constexpr std::int64_t kParts = 10;
// Gains are told apart in steps of this.
constexpr std::int64_t kStep_milli = 10;

std::int64_t divided_down(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

class UsefulRestScorer final : public core::Scorer {
 public:
  UsefulRestScorer(std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes)
      : fragmentation_(mix, classes),
        copies_(mix),
        step_(std::max<std::int64_t>(kStep_milli * kParts * fragmentation_.weight(), 1)) {}

  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    const std::int64_t before = useless(node, core::TaskShape{}, core::kAnyDevice);
    const bool idle = node.whole_devices() == node.node_class.devices;
    const std::int64_t opens = task.devices > 0 && idle ? 1 : 0;
    if (!task.is_share())
      return {2 * steps(before - useless(node, task, core::kAnyDevice)) - opens};
    core::Score best;
    for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
      const std::int32_t milli = node.devices_milli[i];
      if (milli < task.device_milli || (i > 0 && milli == node.devices_milli[i - 1])) continue;
      const auto device = static_cast<std::int32_t>(i);
      const std::int64_t value = 2 * steps(before - useless(node, task, device)) - opens;
      if (best.device == core::kAnyDevice || value > best.value) best = {value, device};
    }
    return best;
  }

 private:
  // Idle milli devices that the mix cannot use once `task` is there, times kParts and the counts.
  std::int64_t useless(const core::FreeState& node, const core::TaskShape& task,
                       std::int32_t device) const {
    const std::int64_t idle = (node.gpus_milli() - task.gpus_milli()) * fragmentation_.weight();
    return kNowParts * fragmentation_.after(node, task, device) +
           (kParts - kNowParts) * (idle - copies_.after(node, task, device));
  }

  std::int64_t steps(std::int64_t gain) const { return divided_down(gain, step_); }

  Fragmentation fragmentation_;
  Copies copies_;
  std::int64_t step_;
};

}  // namespace

std::unique_ptr<const core::Scorer> UsefulRest::prepare(
    std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const {
  return std::make_unique<UsefulRestScorer>(mix, classes);
}

}  // namespace dove::policies
