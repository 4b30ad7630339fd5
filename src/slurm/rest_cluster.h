// RestCluster: a Slurm that is looked at through its slurmrestd, and changed by its commands.
//
// A look is the frequent part, and the dear one: nothing is started for it here, and neither
// sinfo nor squeue nor munge takes part. slurmrestd 22.05 (API v0.0.38) cannot make an allocation
// that runs nothing, nor change a node; what changes something therefore stays with the commands.
// Calls block as those of CommandCluster do. One thread.
#pragma once

#include <functional>
#include <string>

#include "slurm/cluster.h"
#include "slurm/reservations.h"

namespace dove::slurm {

// Where a slurmrestd listens.
struct RestPlace {
  std::string url;
  std::string socket;  // a path; "": it is reached by the URL
};

// "unix:/run/slurmrestd.sock", "http://head:6820", "https://head:6820". Errors: kInvalid.
Result<RestPlace> read_rest_place(const std::string& text);

// An answer of slurmrestd.
struct RestAnswer {
  int status = 0;
  std::string body;
};

class RestCluster : public SlurmCluster {
 public:
  using Get = std::function<Result<RestAnswer>(const std::string& target)>;
  // `commands` outlives it. `get`: one GET of slurmrestd; its errors mean that no answer came.
  RestCluster(SlurmCluster& commands, Get get);

  Result<Observed> observe() override;
  Result<std::vector<JobSeen>> observe_jobs(const std::vector<NodeSeen>& nodes) override;
  Result<std::int64_t> ask(const Ask& ask) override;
  Result<void> release(std::int64_t job) override;
  Result<void> mark(std::int64_t job, const std::string& text) override;
  Result<void> suspend(std::int64_t job) override;
  Result<void> set_limit(std::int64_t job, std::int64_t limit_minutes) override;
  Result<void> set_drain(const std::string& node, const std::string& reason) override;

 private:
  Result<std::string> get(const char* what) const;

  SlurmCluster& commands_;
  const Get get_;
  Reservations reservations_;
};

}  // namespace dove::slurm
