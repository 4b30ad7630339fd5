// MaintenancePlan: which nodes would be taken out of service, and when, if an action were requested
// for them now.
//
// The state is copied and run forward by the passes that maintain nodes; no new work is started on
// the copy. Running jobs end, at the latest, at their time limit and grace, and every stop, test
// and remedy takes its full allowance. Bounded by steps. Pure; changes nothing.
#pragma once

#include <vector>

#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

struct MaintenanceRequest {
  std::vector<NodeId> nodes;
  NodeRequest request;
  Instant at;  // when it is asked for
  Span each;   // how long a node is away, its tests included, once nothing runs there
};

// One node, from leaving production on. Jobs are those that were there then.
struct PlannedMaintenance {
  NodeId node;
  Instant from;              // kNever: its turn does not come
  Instant idle = kNever;     // nothing that must end runs there any more
  Instant back = kNever;     // kNever: it never gets idle
  std::vector<JobId> go_on;  // the remedy leaves them alone
  std::vector<JobId> end;    // end by themselves first; at their time limit at the latest
  std::vector<JobId> saved;  // stopped, with a checkpoint
  std::vector<JobId> again;  // stopped, and run again from the start
};

struct MaintenancePlan {
  std::vector<PlannedMaintenance> nodes;  // in the order in which they are taken
  std::vector<JobId> endless;             // have no time limit, and a node waits for them
  Instant done = kNever;                  // all are back; kNever: that cannot be said
};

// REQUIRES: `at` >= state.now, the nodes exist, and the request's action is neither kNone nor
// kResume.
MaintenancePlan plan_maintenance(const State& state, const Policies& policies,
                                 const MaintenanceRequest& wish);

}  // namespace dove::core
