// RestCluster: a Slurm that is observed through its slurmrestd, and changed through it where that
// can be done exactly; everything else is done by Slurm's commands.
//
// Looks are frequent and would be expensive by commands: here a look starts no process, and
// involves neither sinfo nor squeue nor munge. rest_api.h says which changes slurmrestd can make.
// Calls block as those of CommandCluster do. One thread.
#pragma once

#include "slurm/cluster.h"
#include "slurm/reservations.h"
#include "slurm/rest/rest_api.h"

namespace dove::slurm {

class RestCluster : public SlurmCluster {
 public:
  // Both outlive it. `makes_changes`: else all changes are the commands'.
  RestCluster(SlurmCluster& commands, const RestApi& api, bool makes_changes);

  Result<Observed> observe() override;
  Result<std::vector<JobSeen>> observe_jobs(const std::vector<NodeSeen>& nodes) override;
  Result<std::int64_t> ask(const Ask& ask) override;
  Result<void> release(std::int64_t job) override;
  Result<std::int64_t> warn(const std::string& handle) override;
  Result<void> requeue(const std::string& handle, const std::string& why) override;
  Result<void> mark(const std::string& handle, const std::string& text) override;
  Result<void> suspend(std::int64_t job) override;
  Result<void> set_limit(std::int64_t job, std::int64_t limit_minutes) override;
  Result<void> set_drain(const std::string& node, const std::string& reason) override;

 private:
  SlurmCluster& commands_;
  const RestApi& api_;
  const bool makes_changes_;
  Reservations reservations_;
};

}  // namespace dove::slurm
