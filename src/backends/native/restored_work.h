// RestoredWork: work on an agent that a restored log does not know
// (docs/decisions/0030-incarnations.md). It is shown as a finding, which closes the node to new
// work, and continues until it ends or an administrator releases it.
//
// Pure.
#pragma once

#include <vector>

#include "core/state/state.h"
#include "model/event.h"
#include "protocol/session.h"

namespace dove::backends {

// Work of jobs that the log knows; what it holds of the node is in no book.
inline constexpr char kAdoptedWork_check[] = "adopted_work";

// The findings that a sync opens, changes or closes: in the same batch, and before the node counts
// as connected, so that nothing is placed on what is held there.
std::vector<Event> work_findings(const core::State& state, const core::Node& node,
                                 const protocol::Sync& message, bool proven);

// Work of jobs that the log does not know goes on here: it was restored, and no administrator has
// released it (a finding that is no fault any more).
bool keeps_unknown(const core::State& state, const core::Node& node);

// Its agent is to sync again: what the findings name may have ended, or was released.
bool wants_resync(const core::State& state, const core::Node& node, bool something_ended,
                  bool holds_unknown);

}  // namespace dove::backends
