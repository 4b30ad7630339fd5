// InstantCluster: a brain whose executors do at once what they are told, for tests of decisions.
//
// Placements are prepared and started, and stopped ones have ended, at the instant of the decision;
// jobs end only when the test or their time limit says so. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/checked_brain.h"

namespace dove::sim {

class InstantCluster {
 public:
  explicit InstantCluster(const core::Policies& policies);

  CheckedBrain& brain() { return brain_; }
  const core::State& state() const { return brain_.state(); }
  // A node that is there from now on.
  void add_node(const std::string& name, std::int32_t gpus, std::int32_t cores);
  // All tasks of the job's attempt end well.
  void end(JobId job);

  // Decides and does what was decided, until nothing more is. `see` is called with each decision
  // once it is in the state; its error ends the test.
  using See = std::function<Result<void>(const Decision&)>;
  Result<void> settle(const See& see);
  // Lets time pass to the next wake-up, or by `span` if that is sooner; false: there is none.
  bool wake();
  void pass(Span span);

 private:
  void start(JobId job);

  CheckedBrain brain_;
};

}  // namespace dove::sim
