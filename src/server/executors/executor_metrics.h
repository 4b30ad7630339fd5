// Metrics about executors for Prometheus: whether the controller hears them, their nodes, what they
// run for others, and the placeholders that they hold for us.
#pragma once

#include "core/state/state.h"
#include "telemetry/exposition.h"

namespace dove::server {

// Sums by executor: no user and no job is named. A look at every node; loop thread.
void add_executors(const core::State& state, telemetry::Exposition& out);

}  // namespace dove::server
