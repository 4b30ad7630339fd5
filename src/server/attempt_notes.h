// AttemptNotes: what agents say of the last attempts of jobs, one note of each node.
//
// In memory only, gone with the process: agents tell it again at each sync. Nothing of it is
// trusted further than it concerns a job of which the node has a task. Loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "core/state.h"
#include "server/sync_plan.h"

namespace dove::server {

template <class Note>
class AttemptNotes {
 public:
  using ByNode = std::map<NodeId, Note>;
  static constexpr std::size_t kJobs_max = 10'000;  // the first of which anything was said goes

  // What `node` said; of an attempt that it does not have, or of an older one, it is dropped.
  void take(const core::State& state, NodeId node, JobId job, AttemptNumber attempt, Note note) {
    if (find_placement(state, job, attempt, node) == nullptr) return;
    const auto [found, is_new] = jobs_.try_emplace(job);
    if (is_new) order_.push_back(job);
    Kept& kept = found->second;
    if (attempt < kept.attempt) return;
    if (attempt > kept.attempt) kept = Kept{attempt, {}};
    kept.by_node[node] = std::move(note);
    for (; order_.size() > kJobs_max; order_.pop_front()) jobs_.erase(order_.front());
  }

  // Null: of the job's last attempt nothing was said.
  const ByNode* of_last(const core::State& state, JobId job) const {
    const auto found = jobs_.find(job);
    const core::Job* known = state.find_job(job);
    if (found == jobs_.end() || known == nullptr || known->attempts.empty()) return nullptr;
    return known->attempts.back().number == found->second.attempt ? &found->second.by_node
                                                                  : nullptr;
  }

 private:
  struct Kept {
    AttemptNumber attempt = 0;
    ByNode by_node;
  };
  std::map<JobId, Kept> jobs_;
  std::deque<JobId> order_;  // as they came
};

}  // namespace dove::server
