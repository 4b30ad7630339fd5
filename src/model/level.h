// The level of a cluster: which layouts, kinds of records and hash its log is written in.
//
// Each release that changes one of them has the next level. A cluster stays at its level while
// controllers of two versions take turns, so that the older one can read what the newer one writes,
// until an administrator says `dove upgrade finish`
// (docs/decisions/0042-a-level-of-the-cluster.md).
#pragma once

#include <cstdint>

namespace dove {

// That of a log which names none: it is older than levels.
constexpr std::int32_t kFirstLevel = 1;
// The newest whose layouts this source knows.
constexpr std::int32_t kNewestLevel = 2;
// What this program writes where nothing keeps it from it, and reads up to: the newest. Only
// `dove-former`, with which tests change versions, has the one before. It is a file of its own
// (level.cc), so that such a program is linked anew, and nothing is compiled anew.
extern const std::int32_t kProgramLevel;

}  // namespace dove
