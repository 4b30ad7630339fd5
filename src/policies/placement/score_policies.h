// The score policies by the names that people type.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/place/score.h"

namespace dove::policies {

struct NamedScorePolicy {
  std::string_view name;
  const core::ScorePolicy* policy;  // lives as long as the program
};

// All of them, in the order of their names.
const std::vector<NamedScorePolicy>& score_policies();

// Null when there is no such policy.
const core::ScorePolicy* find_score_policy(std::string_view name);

}  // namespace dove::policies
