// Limits: which limit of a queue, user, project, domain, cluster, array or pool keeps a job
// waiting.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/amount.h"
#include "core/state/holders/holders.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// The kinds of holders of limits.
enum class HolderKind { kUser, kProject, kDomain, kQueue };

// Every limit that the job would break by starting now; empty: none. `first_only` stops at one.
std::vector<Reason> broken_limits(const State& state, const JobSpec& spec, const Amount& amount,
                                  bool first_only);

// Whether there is none, found without looking for names. `account`: that of such jobs.
bool is_within_limits(const State& state, const JobSpec& spec, const Account& account,
                      const Amount& amount);

// Every limit of the job's project, or of its domain, that submitting `elements` such jobs would
// break.
std::vector<Reason> broken_project_limits(const State& state, const JobSpec& spec,
                                          std::int64_t elements);
std::vector<Reason> broken_domain_limits(const State& state, const JobSpec& spec,
                                         std::int64_t elements);

// Everybody's limits that hold for the job: its user's, its project's, its domain's, and those of
// its queue and all above it. Visits (holder, name, limits).
template <class Visit>
void each_holder(const State& state, const JobSpec& spec, Visit visit) {
  for_each_queue(state, spec.queue, [&](const std::string& name) {
    const auto queue = state.queues.find(name);
    if (queue != state.queues.end()) visit(HolderKind::kQueue, name, queue->second.limits);
  });
  if (const Limits* limits = limits_of_user(state, spec.user)) {
    visit(HolderKind::kUser, spec.user, *limits);
  }
  const auto project = state.projects.find(spec.project);
  if (project != state.projects.end()) {
    visit(HolderKind::kProject, spec.project, project->second.limits);
  }
  if (state.domains.empty()) return;
  const auto domain = state.domains.find(domain_of(state, spec));
  if (domain != state.domains.end()) {
    visit(HolderKind::kDomain, domain->first, domain->second.limits);
  }
}

// Who may raise the limits of a holder: "an administrator of domain corp, or of the cluster".
std::string raised_by(const State& state, std::string_view level, const std::string& name);
// "user", "project", "domain", "queue"; and that of a limit that is broken, which is not the
// cluster's.
const char* word(HolderKind holder);
HolderKind holder_of(const Reason& limit);
// What all jobs of such a holder use, and what they used this month.
const std::map<std::string, Usage>& usages_of(const State& state, HolderKind holder);
const std::map<std::string, MonthUse>& months_of(const State& state, HolderKind holder);

// Whether the pool is open to the user and the project: to everybody, or by the union of its users,
// projects and domains.
bool may_use(const State& state, const Pool& pool, const std::string& user,
             const std::string& project);

// What administrators declared that keeps the job waiting whatever is free: closed pool, time.
std::vector<Reason> declared_obstacles(const State& state, const JobSpec& spec);

}  // namespace dove::core
