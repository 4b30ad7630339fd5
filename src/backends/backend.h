// Backend: where jobs run. It carries decisions out and reports the results.
//
// Orders are idempotent, keyed by (job, attempt, node) and epoch; a failed order comes back as an
// event. All calls come from the controller's publishing thread after the decision was committed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/event.h"
#include "model/ids.h"

namespace dove::backends {

// kTest and kRemedy are about the node itself: they name no job.
enum class OrderKind { kLaunch, kStart, kStop, kTest, kRemedy };

// One placement's part of a decision. seq is the log position of the decision.
struct Order {
  OrderKind kind = OrderKind::kLaunch;
  Seq seq;
  Epoch epoch;
  JobId job;
  AttemptNumber attempt = 0;
  NodeId node;
  StopReason reason = StopReason::kNone;  // kStop
  std::shared_ptr<const Launch> launch;   // kLaunch: the whole attempt; `node` says which part
  std::shared_ptr<const JobSpec> spec;    // kLaunch
  Remedy remedy = Remedy::kNone;          // kRemedy
  std::int32_t restart_count = 0;         // kLaunch: attempts before this one
  bool barrier = false;                   // kLaunch: what is prepared waits for kStart
};

class Backend {
 public:
  virtual ~Backend() = default;
  // Never blocks; delivery is the backend's business until the order is outdated.
  virtual void carry_out(std::vector<Order> orders) = 0;
};

}  // namespace dove::backends
