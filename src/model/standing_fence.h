// What a standing fence has in the scheduler of an executor, besides the device that it keeps
// (slurm/fences/standing_fences.h). Our ledger gives it to nobody and records no holder.
#pragma once

#include <cstdint>

namespace dove {

inline constexpr std::int64_t kFence_memory_bytes = std::int64_t{1} << 20;

}  // namespace dove
