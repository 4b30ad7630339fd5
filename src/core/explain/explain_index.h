// ExplainIndex: data of one State that explanations look up repeatedly: the books of its pools, the
// jobs that hold places, the capacity of all available nodes.
//
// Each part is built when it is first needed; update then applies what the fold recorded. Answers
// are the same whether a part was kept or has just been built. Must not outlive the State. Used
// from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/explain/pool_books.h"
#include "core/preempt/running_jobs.h"
#include "core/queue/policy.h"
#include "core/state/changes.h"
#include "core/state/state.h"

namespace dove::core {

class ExplainIndex {
 public:
  ExplainIndex(const State& state, const Policies& policies);
  ExplainIndex(const ExplainIndex&) = delete;
  ExplainIndex& operator=(const ExplainIndex&) = delete;

  const State& state() const { return state_; }
  const Policies& policies() const { return policies_; }

  // REQUIRES: the pool is the state's.
  PoolBooks& books(const Pool& pool);
  const RunningJobs& running();
  // The number of the pool's jobs that hold places until nobody knows when.
  std::int64_t endless(const Pool& pool);
  // What all available nodes have, as the queue tree counts it.
  const Total& total();

  // What was noted since this was made, or updated last. False: it cannot be brought up to date,
  // and another has to be made; so has one when something was declared.
  bool update(const Changes& changes);

 private:
  void update_node(NodeId node);
  void renew_endless(std::vector<JobId>& list, const Pool& pool, std::span<const JobId> touched);
  void update_jobs(std::span<const JobId> touched);

  const State& state_;
  const Policies policies_;
  const std::size_t nodes_;  // how many there were: views point at them
  std::map<std::string, std::unique_ptr<PoolBooks>> books_;
  Instant windows_until_;  // then a reservation ends
  std::optional<RunningJobs> running_;
  std::map<std::string, std::vector<JobId>> endless_;  // by pool, ascending
  std::optional<Total> total_;
  ById<NodeId, Total> counted_;  // of each node, in total_
};

}  // namespace dove::core
