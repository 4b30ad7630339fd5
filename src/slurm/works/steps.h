// Steps: the sruns of placements, which continue when the adapter ends and are found by the next
// one.
//
// StepDirectory keeps one directory for each, with a process beside the srun that outlives the
// adapter and records how it ended. Only the administrator can read what is kept there. Calls block
// for a few seconds at most. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/descriptor.h"
#include "slurm/command_run.h"
#include "slurm/works/srun.h"

namespace dove::slurm {

struct StepSeen {
  enum class State { kRunning, kEnded, kLost };  // kLost: nobody saw how it ended
  PlaceholderKey key;
  State state = State::kRunning;
  std::int64_t slurm_job = 0;
  int code = 0;                   // kEnded: srun's
  std::string said;               // srun's standard error, its first part
  std::int64_t stop_since_s = 0;  // since 1970 UTC: when it was first signalled to stop; 0: never
  int signals = 0;                // of those that were sent to stop it
  bool is_given_up = false;
  bool is_warned = false;
};

class Steps {
 public:
  virtual ~Steps() = default;
  // All that were begun, here or by a former adapter, and are not forgotten.
  virtual Result<std::vector<StepSeen>> all() = 0;
  // REQUIRES: there is none of this key. Errors: kInvalid, kDenied: it will not do; others: not
  // now.
  virtual Result<void> begin(const StepWanted& step) = 0;
  // Sends it a signal, and keeps that it was the `number`th, from `at_s` on.
  virtual Result<void> signal(const StepSeen& step, int signal, int number, std::int64_t at_s) = 0;
  // Sends it the signal, and keeps that it got it. Errors: kConflict not_begun: its first step has
  // not begun, and it is to be sent later.
  virtual Result<void> warn(const StepSeen& step, const Warning& warning) = 0;
  // Its allocation has ended, and srun may not have noticed: it is killed unless it ends within
  // kGiveUp_s.
  virtual Result<void> give_up(const PlaceholderKey& key) = 0;
  // REQUIRES: it does not run.
  virtual void forget(const PlaceholderKey& key) = 0;
};

class StepDirectory : public Steps {
 public:
  using Run = std::function<Result<CommandEnd>(const CommandWanted& wanted)>;
  // `path` is made when it is needed. `run`: how scancel is run, for tests; else run_command().
  explicit StepDirectory(std::string path, Run run = {});

  Result<std::vector<StepSeen>> all() override;
  Result<void> begin(const StepWanted& step) override;
  Result<void> signal(const StepSeen& step, int signal, int number, std::int64_t at_s) override;
  Result<void> warn(const StepSeen& step, const Warning& warning) override;
  Result<void> give_up(const PlaceholderKey& key) override;
  void forget(const PlaceholderKey& key) override;

 private:
  // What `scancel --signal` is to name.
  Result<std::vector<std::string>> warned_of(const StepSeen& step, bool steps_first) const;
  Result<void> cancel(int signal, std::vector<std::string> targets) const;

  std::string path_;
  Run run_;
};

// "17.2.gpu-001", and back.
std::string step_name(const PlaceholderKey& key);
std::optional<PlaceholderKey> read_step_name(const std::string& name);
// Whether Slurm has started what we began, "12.0": of the same lines.
bool has_first_step(std::string_view lines, std::int64_t slurm_job);
// The steps that were started from inside the first one, "12.1": of the lines of
// `squeue --steps --format=%i`.
std::vector<std::string> inner_steps(std::string_view lines, std::int64_t slurm_job);

}  // namespace dove::slurm
