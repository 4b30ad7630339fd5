// What the findings on a node take away from jobs, and how they are folded into the state.
//
// A finding of kFault or worse closes its device, or the whole node when it names none that the
// node has. Pure; the folds are called by apply only.
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

// Checks that the core itself makes of what is reported.
inline constexpr std::string_view kSlow_check = "slow";
inline constexpr std::string_view kLemon_check = "lemon";
inline constexpr std::string_view kRankHang_check = "rank_hang";
inline constexpr std::string_view kGangHang_check = "gang_hang";

// So many faults of late that it is to be replaced, not repaired once more.
bool is_lemon(const State& state, const Node& node);

// So many findings are kept open on a node, and so many times of faults.
constexpr std::size_t kFindings_max = 64;
constexpr std::size_t kFaults_max = 16;

void open_finding(State& state, Node& node, const Finding& finding);
// All of them: the node was tested and found good.
void close_findings(State& state, Node& node);

// The network between the two failed. A node that several others do not reach is suspected.
void vote(State& state, Node& node, NodeId peer);

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

// Several slow reports in a row are a finding `slow` on the node, or on the slowest rank's device
// when the rest of the node keeps up; once in an attempt it counts among the node's faults. It ends
// with a report that the same devices, or the node, keep up.
void fold_progress(State& state, Attempt& attempt, PlacementRecord& record,
                   const ProgressReported& report);

}  // namespace dove::core
