// CommandCluster: a real Slurm, driven by its commands (squeue, sinfo, salloc, scancel, scontrol).
// Which version they are of is asked once, and again after a look or a request that failed.
//
// A placeholder is an allocation without a shell (`salloc --no-shell --immediate`): it starts in
// the call or not at all, and nothing runs on its node. One that may wait is a batch job that
// sleeps, and so is a user's since 23.02. It bears our mark in the administrator's comment, which
// requires Slurm's administrator (root or SlurmUser). SLURM_CONF selects the Slurm.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/command_run.h"
#include "slurm/fences/user_signal.h"
#include "slurm/partitions.h"
#include "slurm/reservations.h"
#include "slurm/slurm_version.h"

namespace dove::slurm {

// A placeholder's salloc. `for_user`: accounted to ask.user (SlurmVersion::allocates_for_users).
std::vector<std::string> placeholder_command(const Ask& ask, bool for_user);
// The same as a batch job, which sleeps: of ask.user if that is a Linux user, else of the
// adapter's.
std::vector<std::string> sleeper_command(const Ask& ask);

class CommandCluster : public SlurmCluster {
 public:
  using Run = std::function<Result<CommandEnd>(const CommandWanted& wanted)>;
  // `run`: how a command is run, for tests; else run_command().
  explicit CommandCluster(Run run = {});

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
  Result<SlurmVersion> version();
  Result<std::vector<NodeSeen>> observe_nodes();
  Result<std::vector<ReservationSeen>> read_reservations() const;
  Result<CommandEnd> run(const std::vector<std::string>& command) const;
  const std::vector<PartitionSeen>& partitions();
  Result<std::optional<UserSignal>> user_signal(const std::string& handle);
  std::optional<UserSignal> accounted_signal(const std::string& handle);
  Result<std::int64_t> allocate(const Ask& ask, bool for_user) const;
  bool is_other_version();
  Result<std::int64_t> allocate_for_user(const Ask& ask);
  Result<std::int64_t> allocate(const Ask& ask);
  Result<std::int64_t> submit_sleeper(const Ask& ask) const;

  Run run_;
  std::optional<SlurmVersion> version_;
  Reservations reservations_;
  std::vector<PartitionSeen> partitions_;
  std::optional<std::chrono::steady_clock::time_point> partitions_read_at_;
  std::optional<std::chrono::steady_clock::time_point> accounting_failed_at_;
};

}  // namespace dove::slurm
