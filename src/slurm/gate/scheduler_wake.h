// SchedulerWake: has slurmctld look for work at once. By itself it does so once a second.
//
// slurmctld looks when a node reports the end of an epilog. An allocation of one core that runs
// nothing is therefore made before jobs are released, and given back afterwards. It bears the name
// of a fence, so that one left by a killed process is released as a fence without a reason. Without
// an `Epilog` in slurm.conf, or with `defer` there, its end has no such effect, and nothing is
// done. Calls block, each for at most a few seconds. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "slurm/cluster.h"
#include "slurm/command_run.h"
#include "slurm/observed.h"

namespace dove::slurm {

// Whether the end of an allocation wakes the scheduler of a Slurm with this configuration, as
// `scontrol show config` prints it.
bool ends_wake(std::string_view config);

class SchedulerWake {
 public:
  using Run = std::function<Result<CommandEnd>(const CommandWanted& wanted)>;
  // `run`: how a command is run, for tests; else run_command().
  SchedulerWake(SlurmCluster& slurm, std::string cluster, Run run = {});

  // Makes the allocation, on a node that has a free core. `now_s`: since 1970 UTC.
  void prepare(const NodeSeen& node, std::int64_t now_s);
  // Gives it back, if there is one: Slurm looks for work as soon as it has ended.
  void fire();

 private:
  bool helps(std::int64_t now_s);

  SlurmCluster& slurm_;
  const std::string cluster_;
  Run run_;
  bool ends_wake_ = false;
  std::int64_t read_again_s_ = 0;  // the configuration
  std::optional<std::int64_t> allocation_;
};

}  // namespace dove::slurm
