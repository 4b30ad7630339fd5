// The amounts of which shares are fractions.
#pragma once

#include "core/queue/policy.h"
#include "core/state/node.h"

namespace dove::core {

// What the node adds to the cluster's total while it is available. REQUIRES: it has an inventory.
Total total_of(const Node& node);

// Exchanges what a node adds to `sum`.
void exchange(Total& sum, const Total& before, const Total& now);

}  // namespace dove::core
