// GateControl: the adapter's actions on jobs at the gate. CommandGate performs them by scontrol.
//
// Calls block, each for at most a few seconds. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "slurm/command_run.h"
#include "slurm/gate/gate_plan.h"

namespace dove::slurm {

// The priority of a job that is let go: below what Slurm keeps for itself at the top.
inline constexpr std::int64_t kGate_priority = 4'294'967'000;

// `handle`: what scontrol calls the job (GateSeen).
class GateControl {
 public:
  virtual ~GateControl() = default;

  // Writes the place of a held job, which stays held.
  virtual Result<void> place(const std::string& handle, const GatePlacing& placing) = 0;
  // Slurm may start it, before jobs that no gate holds.
  virtual Result<void> let_go(const std::string& handle) = 0;
  // It waits again, held and without a place; one that runs and cannot wait again ends. One that
  // has ended, or is ending, is left as it is.
  virtual Result<void> put_back(const std::string& handle, const GatePutBack& one) = 0;
  // The comment that its user sees.
  virtual Result<void> say(const std::string& handle, const std::string& words) = 0;
  // Writes its mark. A task of an array gets a record of its own by that.
  virtual Result<void> mark(const std::string& handle, const std::string& text) = 0;
};

// SlurmUser, as slurmctld says it. Errors: those of the command; kInvalid slurm_output.
Result<uid_t> slurm_user(const std::function<Result<CommandEnd>(const CommandWanted& wanted)>& run);

class CommandGate : public GateControl {
 public:
  using Run = std::function<Result<CommandEnd>(const CommandWanted& wanted)>;
  // `run`: how a command is run, for tests; else run_command().
  explicit CommandGate(Run run = {});

  Result<void> place(const std::string& handle, const GatePlacing& placing) override;
  Result<void> let_go(const std::string& handle) override;
  Result<void> put_back(const std::string& handle, const GatePutBack& one) override;
  Result<void> say(const std::string& handle, const std::string& words) override;
  Result<void> mark(const std::string& handle, const std::string& text) override;

 private:
  Result<void> run(std::vector<std::string> words, std::string input = {}) const;

  Run run_;
};

}  // namespace dove::slurm
