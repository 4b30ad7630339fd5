#include "policies/smallest_share.h"

#include <algorithm>

namespace dove::policies {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

std::int64_t part_of(std::int64_t used, std::int64_t total) {
  if (used <= 0) return 0;
  if (total <= 0) return kBillion;
  // Amounts are bytes at most: the larger ones give up bits that a billionth does not see.
  while (used > (std::int64_t{1} << 33) / 4) {
    used >>= 1;
    total >>= 1;
  }
  return used * kBillion / std::max<std::int64_t>(total, 1);
}

}  // namespace

std::int64_t SmallestShare::share(const core::ShareView& view) const {
  const core::Usage& used = *view.used;
  const core::Total& total = *view.total;
  return std::max({part_of(used.cores, total.cores) / view.weights.cores,
                   part_of(used.gpus_milli, total.gpus_milli) / view.weights.gpus,
                   part_of(used.memory_bytes, total.memory_bytes) / view.weights.memory});
}

}  // namespace dove::policies
