// Yield: what became of the time that GPUs were given away for, since this server began.
//
// Of an attempt that ended, the time from its tasks' start on was useful if they ended well; else
// up to the last checkpoint it told of. The rest is lost, by the reason for its end, and the time
// before the start is lost to "preparing". Of what nobody held it was "unavailable" (its node or it
// is closed, drained or not there), "idle_while_waiting" for jobs that wait, or "idle". Measured in
// GPU microseconds in thousandths of a GPU. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
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
  // So much time has passed since the last call; the first one only begins. `now_us` never goes
  // back. Looks at every node: to be called every few seconds.
  void passed(const core::State& state, std::int64_t now_us);
  // Adds "yield" to the job's object: GPU seconds of its attempts that ended, useful and by cause
  // lost; null when there are none.
  void show(JobId job, nlohmann::json& object) const;
  // As counters of GPU seconds: by cause, user and queue; and by cause and node.
  void add_to(telemetry::Exposition& out, const core::State& state) const;

  // Thousandths of GPU microseconds, all users and queues; for tests.
  std::int64_t total(const std::string& cause) const;

 private:
  void count(const core::Job& job, const core::Attempt& attempt);
  void add(const core::Job& job, const core::PlacementRecord& record, const std::string& cause,
           Span time);
  void add_idle(const core::State& state, const core::Node& node, std::int64_t time_us);

  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> by_user_;
  std::map<std::pair<NodeId, std::string>, std::int64_t> by_node_;
  std::map<JobId, std::map<std::string, std::int64_t>> by_job_;  // until it is forgotten
  std::int64_t passed_us_ = 0;              // at the last call of passed(); 0: there was none
  std::map<JobId, AttemptNumber> counted_;  // of jobs that were queued again
};

}  // namespace dove::server
