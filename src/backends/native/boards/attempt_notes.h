// AttemptNotes: what agents report about the last attempts of jobs, one note for each node.
//
// In memory only, gone with the process: agents report it again at each sync. A note is accepted
// only for a job that has a task on that node. Notes about running jobs always stay, so their
// number is that of the attempts in the ledger. Loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "backends/native/sync_plan.h"
#include "core/state/state.h"

namespace dove::backends {

template <class Note>
class AttemptNotes {
 public:
  using ByNode = std::map<NodeId, Note>;
  static constexpr std::size_t kJobs_max = 10'000;  // beyond it those go that do not run

  // What `node` said; of an attempt that it does not have, or of an older one, it is dropped.
  void take(const core::State& state, NodeId node, JobId job, AttemptNumber attempt, Note note) {
    if (find_placement(state, job, attempt, node) == nullptr) return;
    const auto [found, is_new] = jobs_.try_emplace(job);
    if (is_new) order_.push_back(job);
    Kept& kept = found->second;
    if (attempt < kept.attempt) return;
    if (attempt > kept.attempt) kept = Kept{attempt, {}};
    kept.by_node[node] = std::move(note);
    make_room(state);
  }

  // Null: there is no note about the job's last attempt.
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
  static constexpr int kLooks = 16;  // at each note, at most

  // Drops the job with the oldest note; running jobs move to the end.
  void make_room(const core::State& state) {
    for (int looks = 0; order_.size() > kJobs_max && looks < kLooks; ++looks) {
      const JobId first = order_.front();
      order_.pop_front();
      const core::Job* job = state.find_job(first);
      if (job != nullptr && job->phase == JobPhase::kActive) {
        order_.push_back(first);
      } else {
        jobs_.erase(first);
      }
    }
  }

  std::map<JobId, Kept> jobs_;
  std::deque<JobId> order_;  // as they came, or were looked at
};

}  // namespace dove::backends
