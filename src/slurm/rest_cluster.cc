#include "slurm/rest_cluster.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "slurm/slurm_json.h"

namespace dove::slurm {
namespace {

// What `squeue --json` of 22.05 prints is this version's, too.
constexpr const char kVersion[] = "v0.0.38";
constexpr std::size_t kExcerptBytes = 200;

Error unavailable(std::string what) {
  return Error{ErrorKind::kUnavailable, "slurmrestd", std::move(what), ""};
}

}  // namespace

Result<RestPlace> read_rest_place(const std::string& text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix) && text.size() > kUnix.size() && text[kUnix.size()] == '/') {
    return RestPlace{"http://localhost", text.substr(kUnix.size())};
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme) && text.size() > scheme.size()) return RestPlace{text, ""};
  }
  return Error{ErrorKind::kInvalid, "bad_rest_place",
               fmt::format("\"{}\" names no slurmrestd: give unix:/PATH, http://HOST:PORT or "
                           "https://HOST:PORT",
                           text),
               "rest"};
}

RestCluster::RestCluster(SlurmCluster& commands, Get get)
    : commands_(commands), get_(std::move(get)) {}

Result<std::string> RestCluster::get(const char* what) const {
  const std::string target = fmt::format("/slurm/{}/{}", kVersion, what);
  TRY_ASSIGN(RestAnswer answer, get_(target));
  if (answer.status == 200) return std::move(answer.body);
  if (answer.status == 401 || answer.status == 403) {
    return unavailable(
        fmt::format("slurmrestd refuses {} ({}): its token may be over; `scontrol token` makes one",
                    target, answer.status));
  }
  if (answer.status == 404) {
    return unavailable(fmt::format("slurmrestd has no {}: it is to speak {} (-s openapi/{})",
                                   target, kVersion, kVersion));
  }
  return unavailable(fmt::format("slurmrestd answers {} with {}: {}", target, answer.status,
                                 answer.body.substr(0, kExcerptBytes)));
}

Result<Observed> RestCluster::observe() {
  Observed seen;
  TRY_ASSIGN(const std::string nodes, get("nodes"));
  TRY_ASSIGN(seen.nodes, read_nodes(nodes));
  if (reservations_.is_due(seen.nodes)) {
    TRY_ASSIGN(const std::string reservations, get("reservations"));
    TRY_ASSIGN(std::vector<ReservationSeen> all, read_reservations(reservations));
    reservations_.keep(std::move(all), seen.nodes, std::time(nullptr));
  }
  reservations_.add_to(seen);
  TRY_ASSIGN(seen.jobs, observe_jobs(seen.nodes));
  return seen;
}

Result<std::vector<JobSeen>> RestCluster::observe_jobs(const std::vector<NodeSeen>& nodes) {
  TRY_ASSIGN(const std::string jobs, get("jobs"));
  return read_jobs(jobs, nodes);
}

Result<std::int64_t> RestCluster::ask(const Ask& ask) { return commands_.ask(ask); }

Result<void> RestCluster::release(std::int64_t job) { return commands_.release(job); }

Result<void> RestCluster::mark(std::int64_t job, const std::string& text) {
  return commands_.mark(job, text);
}

Result<void> RestCluster::suspend(std::int64_t job) { return commands_.suspend(job); }

Result<void> RestCluster::set_limit(std::int64_t job, std::int64_t limit_minutes) {
  return commands_.set_limit(job, limit_minutes);
}

Result<void> RestCluster::set_drain(const std::string& node, const std::string& reason) {
  return commands_.set_drain(node, reason);
}

}  // namespace dove::slurm
