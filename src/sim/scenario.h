// Scenario: a text of events, run through the brain; the decisions come out as text.
//
//   # what this shows
//   0s  node n1 gpus=8 cores=64
//   1s  submit a gpus=8
//   2s  why a
//   ----
//   1s  launch a#1 n1 cores=0 gpus=0-7
//
// Lines of one instant are one batch. Between lines, time passes by the brain's own wake-ups. After
// every pass the books are checked; every cycle is decided again by a copy without caches, and all
// records are folded again at the end: a difference fails the scenario. docs/recipes/policy.md
// lists the words.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/queue/policy.h"

namespace dove::sim {

struct Scenario {
  std::string input;     // up to and with the line ----
  std::string expected;  // after it
};

Scenario split_scenario(std::string_view text);

// What came out, one line each. Fails with the line of a word it does not know, or with what the
// checks above found.
Result<std::string> run_scenario(std::string_view input, const core::Policies& policies);

}  // namespace dove::sim
