// Calls about the life of a node: what is asked of it, and what is found of it.
#pragma once

#include "server/context.h"

namespace dove::server {

void ask_node(Context& context, CallPtr call);
void report_finding(Context& context, CallPtr call);

}  // namespace dove::server
