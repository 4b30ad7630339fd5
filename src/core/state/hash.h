// The hash of a State: how two machines, or a log and its fold, are found to agree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/state/state.h"
#include "model/job_fields.h"

namespace dove::core {

// Which fields are hashed. A program that adds one raises it, and still knows what the programs
// before it hashed: their logs and snapshots are verified by the level that they were written with.
// A field of a job raises it in the list of those (model/job_fields.h).
constexpr int kHashLevel = std::max(11, kJobHashLevels.back());

// Digest over everything in State, as of `level`, but what is derived from the rest. Equal states
// give equal digests on every machine.
std::uint64_t state_hash(const State& state, int level = kHashLevel);

// Whether `hash` is that of `state` as this program, or one before it, hashed.
bool has_state_hash(const State& state, std::uint64_t hash);

}  // namespace dove::core
