// Side jobs: sessions beside another job, their main job, such as TensorBoard on its logs.
//
// A side job names its main job as `side_of` when it is submitted. That is kept as the job's parent
// and a dependency: a session that depends on its parent's start is its side job, and is cancelled
// when the parent has ended. Loop thread only. Include only from .cc files of this part.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "codec/json.h"
#include "model/event.h"
#include "server/context.h"
#include "wire/loop.h"

namespace dove::server {

// Takes `side_of` out of a submission's body; none: it is no side job. Errors: no such job,
// not_yours, job_ended, no_side_of_array.
Result<JobId> take_side_of(const Context& context, const Caller& caller, nlohmann::json& body);
// Makes it the side job of `main`. Error: kInvalid no_app.
Result<void> make_side(codec::Submission& submission, JobId main);

class SideJobs {
 public:
  // REQUIRES: `context` outlives it.
  explicit SideJobs(Context& context);

 private:
  void look_at(const store::Batch& batch);
  void learn_new();
  void end_those_of(JobId main);
  void end_session(JobId side);

  Context& context_;
  JobId next_{1};                      // of jobs that were not looked at
  std::multimap<JobId, JobId> sides_;  // by their main jobs
  wire::Timer timer_;
};

}  // namespace dove::server
