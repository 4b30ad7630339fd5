#include "core/state/past/past_use.h"

#include <algorithm>

namespace dove::core {
namespace {

// Ten cores weigh as much as one GPU.
constexpr std::int64_t kCores_milli = 100;
constexpr std::int64_t kMemory_bytes = std::int64_t{64} << 20;  // one thousandth
constexpr int kBits = 16;

std::int64_t whole_ms(Span span) { return span.us / 1000; }

// amount * numerator / 2^kBits without overflow; amount >= 0, numerator <= 2^kBits.
std::int64_t scaled(std::int64_t amount, std::int64_t numerator) {
  // In two halves, as the product of the whole could leave 64 bits.
  const std::int64_t high = amount >> kBits;
  const std::int64_t low = amount & ((std::int64_t{1} << kBits) - 1);
  return high * numerator + ((low * numerator) >> kBits);
}

// 2^(-part/whole) in 2^-kBits for 0 <= part < whole: a cubic through the ends and their slopes.
std::int64_t half_to(std::int64_t part, std::int64_t whole) {
  const std::int64_t one = std::int64_t{1} << kBits;
  const std::int64_t x = part * one / whole;
  // 1 - 0.69315 x + 0.23984 x^2 - 0.05184 x^3 + 0.00515 x^4
  std::int64_t y = 338;
  for (const std::int64_t factor :
       {std::int64_t{-3397}, std::int64_t{15718}, std::int64_t{-45427}}) {
    y = ((y * x) >> kBits) + factor;
  }
  return one + ((y * x) >> kBits);
}

std::int64_t decayed(std::int64_t amount, Span half_life, std::int64_t ms) {
  const std::int64_t whole = std::max<std::int64_t>(whole_ms(half_life), 1);
  const std::int64_t halvings = ms / whole;
  // Beyond that nothing is left of any amount, and the shift would be undefined.
  if (halvings >= 62) return 0;
  return scaled(amount >> halvings, half_to(ms % whole, whole));
}

}  // namespace

std::int64_t use_rate_milli(const Usage& usage) {
  return usage.gpus_milli + usage.cores * kCores_milli + usage.memory_bytes / kMemory_bytes;
}

std::int64_t past_use_at(const PastUse& past, const Usage& usage, Span half_life, Instant now) {
  const std::int64_t ms = whole_ms(now - past.at);
  if (ms <= 0) return past.amount;
  // What is used meanwhile counts as if it had been in the middle, at most a half-life long.
  const std::int64_t counted = std::min(ms, std::max<std::int64_t>(whole_ms(half_life), 1) * 2);
  const std::int64_t added = decayed(use_rate_milli(usage) * counted, half_life, counted / 2);
  return decayed(past.amount, half_life, ms) + added;
}

std::int64_t past_part(std::int64_t past_milli_ms, std::int64_t whole_milli, Span half_life) {
  constexpr std::int64_t kScale = 1'000'000'000;
  constexpr std::int64_t kHalf_lives_ppm = 1'442'695;  // 1 / ln 2: what use without end adds up to
  const __int128 whole = static_cast<__int128>(whole_milli) *
                         std::max<std::int64_t>(whole_ms(half_life), 1) * kHalf_lives_ppm /
                         1'000'000;
  if (whole <= 0) return 0;
  const __int128 part = static_cast<__int128>(past_milli_ms) * kScale / whole;
  return static_cast<std::int64_t>(std::min<__int128>(part, 2 * kScale));
}

void charge(PastUse& past, const Usage& usage, Span half_life, Instant now) {
  const std::int64_t ms = whole_ms(now - past.at);
  if (ms <= 0) return;
  past.amount = past_use_at(past, usage, half_life, now);
  // Whole milliseconds alone: the rest is charged next time, so that many small changes count as
  // much as one.
  past.at = past.at + Span{ms * 1000};
}

}  // namespace dove::core
