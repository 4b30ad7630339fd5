// The settings that a new cluster starts with: the one definition, for `dove up` and `dove server`
// on an empty data directory, the `default` of replays, the benchmarks, and `null` in `dove apply`.
//
// ClusterSettings{} is another thing: what a log means that declares nothing. It never changes, so
// that old logs replay as they were decided.
#pragma once

#include <optional>
#include <string_view>

#include "model/declared.h"

namespace dove {

// The order and the placement that learn.
inline ClusterSettings new_cluster_settings() {
  ClusterSettings settings;
  settings.order = "learned";
  settings.placement = "expected_fit";
  return settings;
}

// How to order and to place, by one word: `learned` as in a new cluster, `plain` is FIFO and best
// fit.
constexpr std::string_view kSchedulings = "learned, plain";

// `settings` with the order and the placement of that name; none when there is no such name.
inline std::optional<ClusterSettings> with_scheduling(ClusterSettings settings,
                                                      std::string_view name) {
  if (name != "learned" && name != "plain") return std::nullopt;
  const ClusterSettings from = name == "plain" ? ClusterSettings{} : new_cluster_settings();
  settings.order = from.order;
  settings.placement = from.placement;
  return settings;
}

}  // namespace dove
