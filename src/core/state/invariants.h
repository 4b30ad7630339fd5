// Invariants of the books: what holds in every State after every record.
#pragma once

#include <optional>
#include <string>

#include "core/state/state.h"

namespace dove::core {

// The first broken invariant of the books, for tests after every step and for checkers.
std::optional<std::string> find_broken_invariant(const State& state);

}  // namespace dove::core
