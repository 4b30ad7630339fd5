// The placement policies of the published fragmentation experiments, by the names that
// `dove sim replay openb` uses.
#pragma once

#include <span>
#include <string_view>

#include "core/place/score.h"

namespace dove::sim {

struct PublishedPlacement {
  std::string_view name;
  const core::ScorePolicy* policy = nullptr;  // lives as long as the program
};

// By name.
std::span<const PublishedPlacement> published_placements();
// Null when there is none of that name.
const core::ScorePolicy* find_published_placement(std::string_view name);

}  // namespace dove::sim
