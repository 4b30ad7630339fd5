#include "views/cluster_totals.h"

#include <algorithm>

namespace dove::views {
namespace {

constexpr std::int64_t kCostsKept = 20;
constexpr std::int64_t kKeptMost_us = 1'000'000;

ClusterTotals::Amounts add_up(const core::State& state) {
  ClusterTotals::Amounts amounts;
  for (const core::Node& node : state.nodes) {
    if (node.removed) continue;
    ++amounts.total;
    amounts.connected += node.contact == Contact::kConnected;
    amounts.drained += node.declared.drained;
    amounts.lost += node.contact == Contact::kLost;
    for (const NumaNode& numa : node.inventory->numa) {
      amounts.cores += static_cast<std::int64_t>(numa.cores.size());
    }
    amounts.cores_free += static_cast<std::int64_t>(node.cores_free.size());
    amounts.gpus += static_cast<std::int64_t>(node.inventory->devices.size());
    for (const std::int32_t milli : node.device_free_milli) amounts.gpus_free_milli += milli;
    amounts.memory_bytes += node.inventory->memory_bytes;
    amounts.memory_free_bytes += std::max<std::int64_t>(node.memory_free_bytes, 0);
  }
  return amounts;
}

}  // namespace

const ClusterTotals::Amounts& ClusterTotals::of(const core::State& state,
                                                const std::function<std::int64_t()>& monotonic_us) {
  const std::int64_t begun_us = monotonic_us();
  if (head_ == state.head || (head_ && begun_us < good_until_us_)) return amounts_;
  amounts_ = add_up(state);
  head_ = state.head;
  const std::int64_t ended_us = monotonic_us();
  good_until_us_ = ended_us + std::min(kCostsKept * (ended_us - begun_us), kKeptMost_us);
  return amounts_;
}

}  // namespace dove::views
