// One event and one decision of every kind, with every field set: for tests of whatever stores,
// sends or shows records. Pure.
#pragma once

#include <vector>

#include "model/event.h"

namespace dove::codec {

JobSpec sample_spec();
Inventory sample_inventory();
Placement sample_placement();
ForeignAllocation sample_allocation();
ForeignUse sample_use();
std::vector<Declared> sample_objects();     // one of every kind
std::vector<StampedEvent> sample_events();  // one of every kind, ObjectApplied for each object
std::vector<Decision> sample_decisions();   // one of every kind

}  // namespace dove::codec
