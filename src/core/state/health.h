// How findings on a node are folded into the State, and what they withhold from jobs.
//
// A finding of kFault or worse closes its device, or the whole node if it names no device of the
// node. Pure; the folds are called by apply only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/findings.h"
#include "core/state/state.h"

namespace dove::core {

// How many findings are kept open on a node, and how many times of faults.
constexpr std::size_t kFindings_max = 64;
constexpr std::size_t kFaults_max = 16;

void open_finding(State& state, Node& node, const Finding& finding);
// All of them: the node was tested and found good.
void close_findings(State& state, Node& node);

// The network between the two failed: a vote against both ends. A node that several others do not
// reach is suspected. `job`: whose running tasks say so; none: preflight found it.
void vote_on_link(State& state, NodeId a, NodeId b, JobId job = {});
// The vote against one end.
void vote(State& state, Node& node, NodeId peer, JobId job = {});

// Several slow reports in a row are a finding `slow` on the node, or on the slowest rank's device
// when the rest of the node keeps up; once in an attempt it counts among the node's faults. It ends
// with a report that the same devices, or the node, keep up.
void fold_progress(State& state, Attempt& attempt, PlacementRecord& record,
                   const ProgressReported& report);

}  // namespace dove::core
