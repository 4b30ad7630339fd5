// Orders: what backends must be told so that the world becomes what the ledger says.
//
// Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::controller {

// Orders for decisions that are committed and applied to `state`; the first is at `first_seq`.
std::vector<backends::Order> orders_of(const core::State& state,
                                       std::span<const Decision> decisions, Seq first_seq);

// Everything that the ledger wants of one node (or of all) and that no report has confirmed: what
// is sent after a restart, and when an agent syncs. Repeats of orders that were sent before are
// idempotent. They carry the head of `state` as seq.
std::vector<backends::Order> outstanding_orders(const core::State& state,
                                                std::optional<NodeId> node);

}  // namespace dove::controller
