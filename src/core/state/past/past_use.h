// Past use with a half-life, in whole numbers: the basis of fair share.
//
// The unit is a GPU millisecond in thousandths; a core counts as a tenth of a GPU, and so do 64 GiB
// of memory. Halving is exact, and fractions of a half-life are within 1/2000 of 2^-x.
#pragma once

#include <cstdint>

#include "core/state/state.h"
#include "model/time.h"

namespace dove::core {

// What `usage` costs: thousandths of a GPU.
std::int64_t use_rate_milli(const Usage& usage);

// The amount at `now`, had `usage` been held since past.at. REQUIRES: now >= past.at, half_life >
// 0.
std::int64_t past_use_at(const PastUse& past, const Usage& usage, Span half_life, Instant now);

// What part of the cluster past use is, in 10^9ths: use that never changes is as much of it as it
// holds. `whole_milli`: use_rate_milli of all that there is.
std::int64_t past_part(std::int64_t past_milli_ms, std::int64_t whole_milli, Span half_life);

// Brings `past` up to `now`, in whole milliseconds: call it before `usage` changes.
void charge(PastUse& past, const Usage& usage, Span half_life, Instant now);

}  // namespace dove::core
