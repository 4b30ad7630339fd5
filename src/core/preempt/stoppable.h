// Stoppable: the running jobs that might be stopped for others, for many beneficiaries of one
// state.
//
// Thousands of shapes may wait while nobody may be stopped for any of them. So what does not depend
// on the beneficiary is found out once, and jobs that are alike for every beneficiary are kin: a
// few questions about kin tell that there is nobody, without a look at each job or node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/place/place.h"
#include "core/preempt/victim_queues.h"
#include "core/state/state.h"

namespace dove::core {

// What the attempt holds: cores, and thousandths of devices.
std::int64_t weight_of(const Attempt& attempt);

// Jobs of one queue and one priority that are protected alike.
struct Kin {
  JobId one;
  Level level;
  bool has_slice = false;
  bool in_slice = false;
  bool pauses = false;          // it was preempted not long ago
  std::int64_t weight_min = 0;  // of the smallest
  std::vector<NodeId> nodes;    // where they run; ascending, each once
};

class Stoppable {
 public:
  // `running`: ids of preemptible active jobs, ascending. `stopping`: the jobs whose attempts are
  // being stopped. REQUIRES: `state` outlives this, and does not change meanwhile.
  Stoppable(const State& state, std::span<const JobId> running, std::span<const JobId> stopping);

  // Those of them that neither end by themselves nor on somebody's order; ascending.
  std::span<const JobId> jobs() const { return jobs_; }
  std::span<const Kin> kin() const { return kin_; }
  std::span<const JobId> stopping() const { return stopping_; }
  const std::shared_ptr<const QueueBooks>& books() const { return books_; }
  // Which nodes are among `nodes`. Remembered by address. REQUIRES: `nodes` outlives this, and does
  // not change meanwhile.
  const ById<NodeId, bool>& among(const RankedNodes& nodes);

 private:
  const State& state_;
  std::vector<JobId> jobs_;
  std::vector<JobId> stopping_;
  std::shared_ptr<const QueueBooks> books_;
  std::vector<Kin> kin_;
  std::map<const RankedNodes*, ById<NodeId, bool>> among_;
};

}  // namespace dove::core
