// A State as bytes and back, for snapshots. Versioned like records; indexes are not written.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::codec {

// At the level of the state (model/level.h).
std::string encode_snapshot(const core::State& state);
// The decoded state has the same state_hash as the encoded one, or this fails with kCorrupt.
Result<core::State> decode_snapshot(std::string_view bytes);

}  // namespace dove::codec
