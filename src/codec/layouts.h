// The layouts that nouns and kinds of records had at the levels before the newest (model/level.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/level.h"

namespace dove::codec {

struct LayoutChange {
  std::int32_t level;     // from which on the noun has a newer layout
  std::string_view noun;  // or kind of record
  std::uint64_t before;   // its layout at the levels below
};

// To change a layout: raise its number, then add a line here, at the next release's level. Fields
// that a former layout cannot hold are left out there, and read back as their defaults.
//
// Layouts of decisions must not change below the level: what was decided is folded whole.
inline constexpr std::array kLayoutChanges{
    LayoutChange{2, "ControllerStarted", 1},    LayoutChange{2, "Executor", 2},
    LayoutChange{2, "ExecutorNodeObserved", 1}, LayoutChange{2, "ExecutorStanding", 1},
    LayoutChange{2, "ForeignAllocation", 1},    LayoutChange{2, "Inventory", 2},
    LayoutChange{2, "NodeExecutor", 1},         LayoutChange{2, "PlaceholderMoved", 1},
    LayoutChange{2, "the snapshot", 12},
};

// The layout of `noun` at `level`; `newest` is that at the newest.
constexpr std::uint64_t layout_at(std::int32_t level, std::string_view noun, std::uint64_t newest) {
  if (level >= kNewestLevel) return newest;
  std::uint64_t layout = newest;
  for (const LayoutChange& change : kLayoutChanges) {
    if (change.noun == noun && change.level > level && change.before < layout) {
      layout = change.before;
    }
  }
  return layout;
}

}  // namespace dove::codec
