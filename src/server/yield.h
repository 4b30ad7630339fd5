// Yield: what became of the time that GPUs were given away for, since this server began.
//
// Of an attempt that ended, the time from its tasks' start on was useful if they ended well; else
// up to the last checkpoint it told of. The rest is lost, by the reason for its end, and the time
// before the start is lost to "preparing". Measured in GPU microseconds in thousandths of a GPU.
// Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/state.h"
#include "model/event.h"
#include "telemetry/exposition.h"

namespace dove::server {

class Yield {
 public:
  // A decision that was just folded into `state`.
  void decided(const core::State& state, const Decision& decision);
  // As counters of GPU seconds: by cause, user and queue; and by cause and node.
  void add_to(telemetry::Exposition& out, const core::State& state) const;

  // Thousandths of GPU microseconds, all users and queues; for tests.
  std::int64_t total(const std::string& cause) const;

 private:
  void count(const core::Job& job, const core::Attempt& attempt);
  void add(const core::Job& job, const core::PlacementRecord& record, const std::string& cause,
           Span time);

  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> by_user_;
  std::map<std::pair<NodeId, std::string>, std::int64_t> by_node_;
  std::map<JobId, AttemptNumber> counted_;  // of jobs that were queued again
};

}  // namespace dove::server
