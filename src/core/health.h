// What the findings on a node take away from jobs, and how they are folded into the state.
//
// A finding of kFault or worse closes its device, or the whole node when it names none that the
// node has. Pure; the folds are called by apply only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/state.h"

namespace dove::core {

// Whether a finding keeps new work from the whole node; from this device.
bool closes_node(const Node& node, const Finding& finding);
bool is_closed(const Node& node);
bool is_device_closed(const Node& node, std::size_t device);
// The first finding that closes the node; null: none does.
const Finding* closing_finding(const Node& node);

// "gpu 2: xid: ..." for people.
std::string finding_text(const Finding& finding);

// So many findings are kept open on a node, and so many times of faults.
constexpr std::size_t kFindings_max = 64;
constexpr std::size_t kFaults_max = 16;

void open_finding(State& state, Node& node, const Finding& finding);
// All of them: the node was tested and found good.
void close_findings(State& state, Node& node);

// The network between the two failed. A node that several others do not reach is suspected.
void vote(State& state, Node& node, NodeId peer);

// A node whose step takes so much longer than the gang's median is slow, in percent; so many
// reports in a row make a finding.
constexpr std::int64_t kSlow_percent = 130;
constexpr std::int32_t kSlow_reports = 3;

void fold_progress(State& state, Attempt& attempt, PlacementRecord& record,
                   const ProgressReported& report);

}  // namespace dove::core
