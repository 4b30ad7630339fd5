// Which jobs are ahead of a waiting job, and why.
//
// A job is ahead if it is ready, is of the same pool, and would be tried first. Within a user queue
// the order is by the policy's rank, then by submission; across queues by band, guarantee, share,
// then rank (core/queue/queue_tree.h). A branch that is ahead by its share counts as one job,
// because shares change with each launch. In a queue that lets no job pass, all jobs ahead count,
// whatever their pool, and they keep the job waiting even where it has a place. In a long queue a
// few thousand jobs around it are examined; `limit` says how many were examined for `count`.
#pragma once

#include <vector>

#include "core/explain/explain_index.h"
#include "model/reason.h"

namespace dove::core {

// Adds a reason when somebody is. `blocked`: something else than the order keeps the job waiting;
// without, only those count whom nothing may pass.
void add_ahead(ExplainIndex& index, const Job& job, bool blocked, std::vector<Reason>& out);

}  // namespace dove::core
