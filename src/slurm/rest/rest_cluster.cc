#include "slurm/rest/rest_cluster.h"

#include <ctime>
#include <utility>

#include "slurm/slurm_json.h"

namespace dove::slurm {

RestCluster::RestCluster(SlurmCluster& commands, const RestApi& api, bool makes_changes)
    : commands_(commands), api_(api), makes_changes_(makes_changes) {}

Result<Observed> RestCluster::observe() {
  Observed seen;
  TRY_ASSIGN(const std::string nodes, api_.get("nodes"));
  TRY_ASSIGN(seen.nodes, read_nodes(nodes));
  if (reservations_.is_due(seen.nodes)) {
    TRY_ASSIGN(const std::string reservations, api_.get("reservations"));
    TRY_ASSIGN(std::vector<ReservationSeen> all, read_reservations(reservations));
    reservations_.keep(std::move(all), seen.nodes, std::time(nullptr));
  }
  reservations_.add_to(seen);
  TRY_ASSIGN(seen.jobs, observe_jobs(seen.nodes));
  return seen;
}

Result<std::vector<JobSeen>> RestCluster::observe_jobs(const std::vector<NodeSeen>& nodes) {
  TRY_ASSIGN(const std::string jobs, api_.get("jobs"));
  return read_jobs(jobs, nodes);
}

Result<std::int64_t> RestCluster::ask(const Ask& ask) { return commands_.ask(ask); }

Result<void> RestCluster::release(std::int64_t job) {
  return makes_changes_ ? api_.cancel(job) : commands_.release(job);
}

Result<std::int64_t> RestCluster::warn(const std::string& handle) { return commands_.warn(handle); }

Result<void> RestCluster::requeue(const std::string& handle, const std::string& why) {
  return commands_.requeue(handle, why);
}

Result<void> RestCluster::mark(const std::string& handle, const std::string& text) {
  return commands_.mark(handle, text);
}

Result<void> RestCluster::suspend(std::int64_t job) { return commands_.suspend(job); }

Result<void> RestCluster::set_limit(std::int64_t job, std::int64_t limit_minutes) {
  return makes_changes_ ? api_.set_limit(job, limit_minutes)
                        : commands_.set_limit(job, limit_minutes);
}

Result<void> RestCluster::set_drain(const std::string& node, const std::string& reason) {
  return commands_.set_drain(node, reason);
}

}  // namespace dove::slurm
