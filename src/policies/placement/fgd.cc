#include "policies/placement/fgd.h"

#include <algorithm>
#include <array>

#include "policies/placement/fragmentation.h"

namespace dove::policies {
namespace {

constexpr int kBits = 60;  // after the point of a fixed-point number

// ln(k / (100 - k)) for 50 < k < 100 in fixed point, as 2 atanh(x) with x = (k - 50) / 50: the sum
// of 2 x^n / n over odd n.
__int128 logit(std::int32_t k) {
  const std::int64_t numerator = k - 50;
  __int128 power = (__int128{1} << kBits) * numerator / 50;
  __int128 sum = 0;
  for (std::int64_t n = 1; power > 0; n += 2) {
    sum += 2 * power / n;
    power = power * numerator * numerator / 2500;
  }
  return sum;
}

class FgdScorer final : public core::Scorer {
 public:
  FgdScorer(std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes)
      : fragmentation_(mix, classes) {
    // sigmoid(saved / unit) >= k / 100 when saved >= unit * ln(k / (100 - k)).
    const __int128 unit = __int128{kWholeDevice_milli} * fragmentation_.weight();
    for (std::int32_t k = 51; k < 100; ++k) {
      const auto step = static_cast<std::int64_t>(unit * logit(k) >> kBits);
      least_saved_[static_cast<std::size_t>(k)] = step + 1;
      least_saved_[static_cast<std::size_t>(100 - k)] = -step;
    }
    least_saved_[50] = 0;
  }

  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    const std::int64_t before = fragmentation_.of(node);
    if (!task.is_share()) {
      return {value(before - fragmentation_.after(node, task, core::kAnyDevice))};
    }
    core::Score best;
    for (std::size_t i = 0; i < node.devices_milli.size(); ++i) {
      if (node.devices_milli[i] < task.device_milli) continue;
      const auto device = static_cast<std::int32_t>(i);
      const std::int64_t found = value(before - fragmentation_.after(node, task, device));
      if (best.device == core::kAnyDevice || found > best.value) best = {found, device};
    }
    return best;
  }

 private:
  // The greatest score whose step is reached.
  std::int64_t value(std::int64_t saved) const {
    return std::upper_bound(least_saved_.begin() + 1, least_saved_.end(), saved) -
           least_saved_.begin() - 1;
  }

  Fragmentation fragmentation_;
  std::array<std::int64_t, 100> least_saved_ = {};  // by score; that of 0 is not looked at
};

}  // namespace

std::unique_ptr<const core::Scorer> Fgd::prepare(std::span<const core::MixEntry> mix,
                                                 std::span<const core::NodeClass> classes) const {
  return std::make_unique<FgdScorer>(mix, classes);
}

}  // namespace dove::policies
