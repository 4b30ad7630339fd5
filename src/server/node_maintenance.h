// Calls about the maintenance of a node: actions that are requested of it, and findings on it.
#pragma once

#include "base/result.h"
#include "model/health.h"
#include "server/context.h"

namespace dove::server {

void ask_node(Context& context, CallPtr call);
// What such a request would lead to (core/explain/maintenance_plan.h).
void plan_maintenance(Context& context, CallPtr call);
// The same by its old path, which goes with the next release (RFC 9745).
void plan_care(Context& context, CallPtr call);
void report_finding(Context& context, CallPtr call);

// The fields action, now, by_us and why; `who` is for the caller to fill in.
NodeRequest read_node_request(codec::JsonFields& fields);

}  // namespace dove::server
