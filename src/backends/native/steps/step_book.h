// StepBook: the steps of the last attempts of jobs, for later queries (sacct).
//
// Nothing of a step is in the log; step_file.h keeps it over restarts. It holds the last kStepsMax
// steps of an attempt, and the last kJobsMax jobs that ran any. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/job.h"

namespace dove::backends {

struct StepRecord {
  std::int32_t number = 0;
  std::string name;
  std::vector<std::string> nodes;
  std::int64_t tasks = 0;
  std::int64_t cores = 0;
  std::int64_t started_at_us = 0;
  std::int64_t ended_at_us = 0;  // 0: not yet
  std::int32_t exit_code = 0;    // of the worst of its tasks
  std::int32_t signal = 0;
};

class StepBook {
 public:
  static constexpr std::size_t kJobsMax = 10'000;
  static constexpr std::size_t kStepsMax = 1'000;

  using Each = std::function<void(JobId, AttemptNumber, const StepRecord&)>;

  // Calls `on_change` with each step that begins or ends from now on.
  void keep(Each on_change) { on_change_ = std::move(on_change); }
  void for_each(const Each& visit) const;

  void began(JobId job, AttemptNumber attempt, StepRecord step);
  // What it does not know of is passed over.
  void exited(JobId job, AttemptNumber attempt, std::int32_t number, const TaskExit& exit);
  void ended(JobId job, AttemptNumber attempt, std::int32_t number, std::int64_t at_us);
  // Adds "steps" to the job's object: those of its last attempt, by number. One whose end nobody
  // heard of ended with the attempt.
  void show(const core::Job& job, nlohmann::json& object) const;

 private:
  struct Kept {
    AttemptNumber attempt = 0;
    std::map<std::int32_t, StepRecord> steps;
  };
  void changed(JobId job, AttemptNumber attempt, const StepRecord& step) const {
    if (on_change_) on_change_(job, attempt, step);
  }
  StepRecord* find(JobId job, AttemptNumber attempt, std::int32_t number);

  std::map<JobId, Kept> jobs_;
  Each on_change_;
  std::deque<JobId> order_;  // as they ran their first step
};

}  // namespace dove::backends
