#include "core/state/learned/service.h"

#include <algorithm>

#include "base/check.h"

namespace dove::core {
namespace {

constexpr std::int64_t kFirstEnd_ms = 600'000;
constexpr std::int64_t kPpm = 1'000'000;

// 1 - exp(-x), from the first terms of exp: rising in x, within 1 % of it where x is below 2.
std::int64_t chance_ppm(std::int64_t x_ppm) {
  // Bounded, so that the powers stay within 64 bits; beyond it the chance is nearly 1 anyway.
  const std::int64_t x = std::min(x_ppm, 16 * kPpm);
  const std::int64_t x2 = x * x / kPpm;
  const std::int64_t x3 = x2 * x / kPpm;
  const std::int64_t x4 = x3 * x / kPpm;
  const std::int64_t exp = kPpm + x + x2 / 2 + x3 / 6 + x4 / 24;
  return kPpm - kPpm * kPpm / exp;
}

std::int64_t scaled(std::int64_t amount, std::int64_t by, std::int64_t over) {
  // Products of service and parts per million leave 64 bits; what is beyond kNever counts as
  // without end.
  const __int128 result = static_cast<__int128>(amount) * by / over;
  return result > kNever.us ? kNever.us : static_cast<std::int64_t>(result);
}

std::int64_t level_begin_ms(std::int32_t level) {
  return level == 0 ? 0 : service_level_end_ms(level - 1);
}

// For a job that enters the level: the chance that it ends there, and what it spends there.
struct Passage {
  std::int64_t ends_ppm = 0;
  std::int64_t spends_ms = 0;
};

Passage passage(const ServiceHistory& history, std::int32_t level) {
  const std::int64_t begin_ms = level_begin_ms(level);
  const bool last = level == kServiceLevels - 1;
  // The last level has no end. It is taken to be as wide as the ratio of the others would make it.
  const std::int64_t width_ms = last ? 3 * begin_ms : service_level_end_ms(level) - begin_ms;
  const auto at = static_cast<std::size_t>(level);
  // Two jobs more that enter: one ends here, and each spends three quarters of the width.
  const std::int64_t ended = history.ended[at] + 1;
  const std::int64_t spent_ms = history.spent_ms[at] + width_ms / 2 * 3;
  const std::int64_t per_end_ms = spent_ms / ended;
  // Every job ends in the last level, if it gets there.
  if (last) return {kPpm, per_end_ms};
  const std::int64_t ends_ppm =
      chance_ppm(scaled(width_ms, kPpm, std::max<std::int64_t>(per_end_ms, 1)));
  return {ends_ppm, scaled(per_end_ms, ends_ppm, kPpm)};
}

}  // namespace

std::int64_t service_ms(Span ran, std::int64_t size_milli) {
  return scaled(ran.us, size_milli, kPpm);
}

std::int64_t service_level_end_ms(std::int32_t level) {
  return level >= kServiceLevels - 1 ? kNever.us : kFirstEnd_ms << (2 * level);
}

std::int32_t service_level(std::int64_t service_ms) {
  std::int32_t level = 0;
  while (service_ms >= service_level_end_ms(level)) ++level;
  return level;
}

Span service_level_end(std::int32_t level, std::int64_t size_milli) {
  const std::int64_t end_ms = service_level_end_ms(level);
  if (end_ms == kNever.us) return Span{kNever.us};
  // Rounded up: at that instant the job is past the level, and not one microsecond short of it.
  const __int128 run_us = (static_cast<__int128>(end_ms) * kPpm + size_milli - 1) / size_milli;
  return Span{run_us > kNever.us ? kNever.us : static_cast<std::int64_t>(run_us)};
}

void ServiceHistory::spent(std::int64_t before_ms, std::int64_t after_ms) {
  CHECK(before_ms >= 0 && before_ms <= after_ms, "service only grows");
  for (std::int32_t level = service_level(before_ms); before_ms < after_ms; ++level) {
    const std::int64_t until_ms = std::min(after_ms, service_level_end_ms(level));
    spent_ms[static_cast<std::size_t>(level)] += until_ms - before_ms;
    before_ms = until_ms;
  }
}

void ServiceHistory::finished(std::int64_t service_ms, Span ran) {
  ++jobs_ended;
  ran_ms += ran.us / 1000;
  ++ended[static_cast<std::size_t>(service_level(service_ms))];
}

ServiceOutlook outlook(const ServiceHistory& history) {
  std::array<Passage, kServiceLevels> passages;
  for (std::int32_t level = 0; level < kServiceLevels; ++level) {
    passages[static_cast<std::size_t>(level)] = passage(history, level);
  }
  ServiceOutlook found;
  found.mean_run = milliseconds((history.ran_ms + kFirstEnd_ms) / (history.jobs_ended + 1));
  // For each level that a job may have reached: how far it has to be followed for the least service
  // for each end. That minimum over all horizons is the Gittins index.
  for (std::size_t from = 0; from < passages.size(); ++from) {
    std::int64_t reaches_ppm = kPpm;
    std::int64_t ends_ppm = 0;
    std::int64_t spends_ms = 0;
    std::int64_t least_ms = kNever.us;
    for (std::size_t level = from; level < passages.size() && reaches_ppm > 0; ++level) {
      ends_ppm += reaches_ppm * passages[level].ends_ppm / kPpm;
      spends_ms += scaled(passages[level].spends_ms, reaches_ppm, kPpm);
      // Those that have not ended up to here go on to the next level.
      reaches_ppm = kPpm - ends_ppm;
      if (ends_ppm > 0) least_ms = std::min(least_ms, scaled(spends_ms, kPpm, ends_ppm));
    }
    found.left_ms[from] = std::max<std::int64_t>(least_ms, 1);
  }
  return found;
}

}  // namespace dove::core
