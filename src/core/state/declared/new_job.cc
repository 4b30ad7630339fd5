// job_of: a job as it is when it is submitted, with what is declared for its pool and the cluster.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/state/apply.h"
#include "core/state/books.h"
#include "core/state/state.h"

namespace dove::core {
namespace {

// Whole nodes and the affinity that its pool and the cluster say are written into the job, so that
// a later change of theirs leaves those that wait alone. The pool's time limit is not:
// time_limit_of().
std::shared_ptr<const JobSpec> as_declared(const State& state,
                                           std::shared_ptr<const JobSpec> spec) {
  const Pool* pool = pool_of(state, *spec);
  const bool whole = pool != nullptr && pool->exclusive && !spec->exclusive;
  Affinity affinity = pool != nullptr ? pool->affinity : Affinity::kDefault;
  if (affinity == Affinity::kDefault) affinity = state.settings.affinity;
  const auto is_open = [](const TaskGroup& group) { return group.affinity == Affinity::kDefault; };
  // The other values are what a group without a wish gets anyway.
  const bool interleaved = affinity == Affinity::kInterleaved &&
                           std::any_of(spec->groups.begin(), spec->groups.end(), is_open);
  // Nearly always: elements of an array, and jobs of one file, go on sharing one spec.
  if (!whole && !interleaved) return spec;
  auto made = std::make_shared<JobSpec>(*spec);
  made->exclusive = made->exclusive || whole;
  for (TaskGroup& group : made->groups) {
    if (interleaved && is_open(group)) group.affinity = affinity;
  }
  return made;
}

}  // namespace

Job job_of(const State& state, std::shared_ptr<const JobSpec> spec) {
  spec = as_declared(state, std::move(spec));
  Job job;
  job.id = JobId(state.next_job);
  job.held = spec->hold;
  job.priority = spec->priority;
  job.submitted_at = state.now;
  job.submitted_seq = state.head;
  if (!spec->array.indices.empty()) {
    job.array = job.id;
    job.array_index = spec->array.indices.front();
  }
  job.spec = std::move(spec);
  return job;
}

}  // namespace dove::core
