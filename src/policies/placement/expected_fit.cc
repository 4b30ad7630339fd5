#include "policies/placement/expected_fit.h"

#include <algorithm>
#include <vector>

#include "policies/placement/copies.h"
#include "policies/placement/fragmentation.h"

namespace dove::policies {
namespace {

// The weight of what one more task could use, against what copies would take: nine to one.
constexpr std::int64_t kNowParts = 9;
constexpr std::int64_t kParts = 10;
// Gains are told apart in steps of this.
constexpr std::int64_t kStep_milli = 10;

// A share of the mix that was counted among n tasks has an error of half the root of n, over n, at
// most.
constexpr std::int64_t kError_milli = kWholeDevice_milli / 2;

// Rounded down.
std::int64_t root(std::int64_t value) {
  std::int64_t found = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit /= 2) {
    const std::int64_t more = found + bit;
    if (more * more <= value) found = more;
  }
  return found;
}

// Towards minus infinity: with C++'s truncation gains around zero would share a step twice as wide.
std::int64_t divided_down(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -((by - 1 - value) / by);
}

// The mix as if every task could run on every model; those that differ in nothing else are one.
std::vector<core::MixEntry> of_any_model(std::span<const core::MixEntry> mix) {
  std::vector<core::MixEntry> all(mix.begin(), mix.end());
  // Jobs that name a model are few and change; by what any model could run, the mix says more about
  // those to come.
  for (core::MixEntry& it : all) it.shape.models = core::kAnyModel;
  std::sort(all.begin(), all.end(),
            [](const core::MixEntry& a, const core::MixEntry& b) { return a.shape < b.shape; });
  std::vector<core::MixEntry> merged;
  for (const core::MixEntry& it : all) {
    if (!merged.empty() && merged.back().shape == it.shape) {
      merged.back().count += it.count;
    } else {
      merged.push_back(it);
    }
  }
  return merged;
}

class ExpectedFitScorer final : public core::Scorer {
 public:
  ExpectedFitScorer(std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes)
      : fragmentation_(mix, classes),
        copies_(mix),
        // Differences smaller than this are ties: the mix is an estimate, and no finer than that.
        step_(
            std::max<std::int64_t>(kParts * std::max(kStep_milli * fragmentation_.weight(),
                                                     kError_milli * root(fragmentation_.weight())),
                                   1)) {}

  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    const std::int64_t before = useless(node, core::TaskShape{}, core::kAnyDevice);
    const bool idle = node.whole_devices() == node.node_class.devices;
    // Opening an idle node costs half a step: it decides ties, and never outweighs a gain.
    const std::int64_t opens = task.devices > 0 && idle ? 1 : 0;
    if (!task.is_share())
      return {2 * steps(before - useless(node, task, core::kAnyDevice)) - opens};
    core::Score best;
    for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
      const std::int32_t milli = node.devices_milli[i];
      // Devices with equal amounts free score alike; comparing neighbours skips most of them.
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

// Whether tasks alike leave all devices of such nodes useful, whichever they take.
bool suits_all(const core::TaskShape& task, std::span<const core::NodeClass> classes) {
  if (task.devices == 0 || task.is_share()) return false;
  return std::all_of(classes.begin(), classes.end(), [&](const core::NodeClass& node) {
    // CPU for each device of the task at most as much as the node has for each of its devices: then
    // the last device is as useful as the first.
    return node.devices == 0 || task.cpu_milli * node.devices <= node.cpu_milli * task.devices;
  });
}

}  // namespace

std::unique_ptr<const core::Scorer> ExpectedFit::prepare(
    std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes) const {
  // Nothing in the mix can spoil anything, so the policy has no opinion, and the caller saves the
  // index.
  if (std::all_of(mix.begin(), mix.end(),
                  [&](const core::MixEntry& it) { return suits_all(it.shape, classes); })) {
    return nullptr;
  }
  return std::make_unique<ExpectedFitScorer>(of_any_model(mix), classes);
}

}  // namespace dove::policies
