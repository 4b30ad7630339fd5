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
    LayoutChange{2, "App", 1},
    LayoutChange{2, "Binding", 1},
    LayoutChange{2, "ClusterSettings", 9},
    LayoutChange{2, "ControllerStarted", 1},
    LayoutChange{2, "Domain", 2},
    LayoutChange{2, "Executor", 2},
    LayoutChange{2, "ExecutorNodeObserved", 1},
    LayoutChange{2, "ExecutorStanding", 1},
    LayoutChange{2, "ForeignAllocation", 1},
    LayoutChange{2, "Group", 1},
    LayoutChange{2, "IdleRule", 2},
    LayoutChange{2, "Inventory", 2},
    LayoutChange{2, "NodeDeclaration", 2},
    LayoutChange{2, "NodeExecutor", 1},
    LayoutChange{2, "PlaceholderMoved", 1},
    LayoutChange{2, "Pool", 5},
    LayoutChange{2, "Project", 1},
    LayoutChange{2, "Queue", 3},
    LayoutChange{2, "Reservation", 2},
    LayoutChange{2, "Secret", 1},
    LayoutChange{2, "Settings", 1},
    LayoutChange{2, "UserDeclaration", 6},
    LayoutChange{2, "UserLimit", 1},
    LayoutChange{2, "the snapshot", 12},
    LayoutChange{2, "what lies beside a snapshot", 1},
};

struct NewKind {
  std::int32_t level;  // from which on there are records of it
  std::string_view kind;
};

// A kind of record that came with a level is written at no level below: whoever makes such events
// asks for the level.
inline constexpr std::array kNewKinds{
    NewKind{2, "BootArmed"},           NewKind{2, "BootTokenIssued"}, NewKind{2, "ForeignUseFound"},
    NewKind{2, "ForeignWatchResumed"}, NewKind{2, "LevelRaised"},
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

// The newest layout of `noun`, or kind of record, that a program of `level` reads; 0: none.
constexpr std::uint64_t newest_read(std::int32_t level, std::string_view noun,
                                    std::uint64_t newest) {
  if (level >= kNewestLevel) return newest;
  for (const NewKind& each : kNewKinds) {
    if (each.kind == noun && each.level > level) return 0;
  }
  return layout_at(level, noun, newest);
}

}  // namespace dove::codec
