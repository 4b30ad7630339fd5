// Which jobs are ahead of a waiting job, and by what.
//
// Ahead is a ready job of the same pool that would be tried before it as things are: in the same
// user queue by the order's rank, then by submission; across queues by band, guarantee, share, then
// rank (core/queue/queue_tree.h). A branch that is ahead by its share counts as one job, since the
// shares change with each launch. In a queue that lets nothing pass all of its jobs that are ahead
// count, whatever their pool, and they keep the job waiting even where it has a place. In a long
// queue a few thousand jobs around it are looked at: `limit` says among how many `count` counts.
#pragma once

#include <vector>

#include "core/explain/explain_index.h"
#include "model/reason.h"

namespace dove::core {

// Adds a reason when somebody is. `blocked`: something else than the order keeps the job waiting;
// without, only those count whom nothing may pass.
void add_ahead(ExplainIndex& index, const Job& job, bool blocked, std::vector<Reason>& out);

}  // namespace dove::core
