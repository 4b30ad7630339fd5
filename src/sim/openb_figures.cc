#include "sim/openb_figures.h"

namespace dove::sim {
namespace {

// The nearest whole number to part / whole, halves to the even one, as in the published figures.
std::int64_t rounded(std::int64_t part, std::int64_t whole) {
  const std::int64_t down = part / whole;
  const std::int64_t twice = 2 * (part % whole);
  if (twice > whole || (twice == whole && down % 2 == 1)) return down + 1;
  return down;
}

}  // namespace

void OpenbTally::arrived(std::int64_t milli, bool placed) {
  arrived_milli_ += milli;
  if (placed) used_milli_ += milli;
  ++(placed ? placed_ : dropped_);
  Load& load = loads_[rounded(100 * arrived_milli_, all_milli_)];
  load.used_sum += rounded(10'000 * used_milli_, all_milli_);
  ++load.arrivals;
}

OpenbResult OpenbTally::result() const {
  OpenbResult result;
  result.placed = placed_;
  result.dropped = dropped_;
  for (const auto& [load_pct, load] : loads_) {
    if (load_pct < kFirstLoad_pct) continue;
    const double used_pct =
        static_cast<double>(load.used_sum) / 100.0 / static_cast<double>(load.arrivals);
    result.unallocated_pct[static_cast<int>(load_pct)] = 100.0 - used_pct;
  }
  return result;
}

}  // namespace dove::sim
