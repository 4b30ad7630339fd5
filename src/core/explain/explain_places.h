// Why a job that may start has no place: a smallest set of causes. With all of them gone the search
// that decide makes finds places; with any one of them left it does not.
//
// The meaning of each cause, and so of removing it:
//
//   kLabels            the job's labels do not matter
//   kDomain            the job need not be in one unit (kNeverFits when it has a level)
//   kExcluded          the job's choice of nodes does not matter
//   kNodesUnavailable  all nodes of the pool are connected and not drained, with what is on them;
//                      `subject`: one that a fault closed
//   kResources         all nodes have as much of the resource free as when nothing runs there;
//                      of "nodes": nothing runs on any
//   kNeverFits         the job asks for none of the resource; of "nodes": it is one task that asks
//                      for nothing, and there is a node for it
//   a limit            it is lifted
//
// kFragmented is no cause: it details the kResources before it.
#pragma once

#include <vector>

#include "core/explain/explain_index.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// Adds them to `out`; nothing when it would find places. `pool`: that of the job. `told`: the
// limits that keep the job waiting wherever it would go; those about what never fits are taken out.
void add_places(ExplainIndex& index, const Pool& pool, const Job& job, std::vector<Reason>& told,
                std::vector<Reason>& out);

}  // namespace dove::core
