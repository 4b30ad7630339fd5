// The hash of a State: it shows whether two machines, or a log and its fold, agree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/state/state.h"
#include "model/job_fields.h"
#include "model/level.h"

namespace dove::core {

// Which fields are hashed. A program that adds one raises it, and still knows what the programs
// before it hashed: their logs and snapshots are verified by the level that they were written with.
// A field of a job raises it in the list of those (model/job_fields.h).
constexpr int kHashLevel = std::max(12, kJobHashLevels.back());

// The level of the hash that a cluster of that level records (model/level.h).
constexpr int hash_level_of(std::int32_t cluster_level) {
  constexpr std::array<int, kNewestLevel> kLevels{11, 12};
  static_assert(kLevels.back() == kHashLevel, "the newest level of a cluster has the newest hash");
  return kLevels[static_cast<std::size_t>(std::clamp(cluster_level, kFirstLevel, kNewestLevel)) -
                 1];
}

// Digest over everything in State, as of `level`, but what is derived from the rest. Equal states
// give equal digests on every machine.
std::uint64_t state_hash(const State& state, int level = kHashLevel);

// Whether `hash` is that of `state` as this program, or one before it, hashed.
bool has_state_hash(const State& state, std::uint64_t hash);

}  // namespace dove::core
