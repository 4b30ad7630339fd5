// Findings: which resources of a node its findings withhold from jobs, and how they are described.
//
// A finding of kFault or worse closes its device, or the whole node if it names no device of the
// node. Pure; folded by core/state/health.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// Whether a finding keeps new work from the whole node; from this device.
bool closes_node(const Node& node, const Finding& finding);
bool is_closed(const Node& node);
bool is_device_closed(const Node& node, std::size_t device);
// The first finding that closes the node; null: none does.
const Finding* closing_finding(const Node& node);

// "gpu 2: xid: ..." for people.
std::string finding_text(const Finding& finding);

// The check of a node's own part of a failed preflight.
inline constexpr std::string_view kPreflight_check = "preflight";

// Checks that the core itself makes of what is reported.
inline constexpr std::string_view kSlow_check = "slow";
inline constexpr std::string_view kLemon_check = "lemon";
inline constexpr std::string_view kRankHang_check = "rank_hang";
inline constexpr std::string_view kGangHang_check = "gang_hang";

// A critical finding is about what the job holds there.
bool is_untrusted(const State& state, const Node& node, JobId job);

// Whether new work may be placed on the node.
bool is_available(const Node& node);

// Whether it had enough faults recently to be replaced, not repaired once more.
bool is_lemon(const State& state, const Node& node);

// How fast a node of a gang is: of its slowest rank and of half of its ranks, by time of a step.
struct NodePace {
  Span busy;
  Span typical;
  std::int32_t ranks = 0;
};
// The time of a step that half of the gang's ranks do not exceed; 0: fewer than three told one.
Span gang_pace(std::vector<NodePace> nodes);
// By the cluster's slow_percent. Never without a pace.
bool is_slow(const State& state, Span busy, Span pace);

}  // namespace dove::core
