#include "core/place/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/device_fit.h"
#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/holders/month_use.h"
#include "core/state/slices.h"
#include "model/resource_names.h"

namespace dove::core {
namespace {

bool exceeds(std::int64_t needs, std::int64_t used, std::int64_t limit) {
  // A negative limit is none. A job that needs nothing of a resource is not stopped by its limit,
  // even where it is exceeded already (it may have been lowered).
  // `needs` may be the largest number there is (core/state/amount.h), so nothing is added to it.
  return limit >= 0 && needs != 0 && (needs > limit || used > limit - needs);
}

ReasonKind kind_of(HolderKind holder) {
  switch (holder) {
    case HolderKind::kUser:
      return ReasonKind::kUserLimit;
    case HolderKind::kProject:
      return ReasonKind::kProjectLimit;
    case HolderKind::kDomain:
      return ReasonKind::kDomainLimit;
    case HolderKind::kQueue:
      return ReasonKind::kQueueLimit;
  }
  return ReasonKind::kQueueLimit;
}

// Collects what one holder of limits (a queue, a user) refuses.
class Check {
 public:
  Check(HolderKind holder, const std::string& subject, bool first_only, std::vector<Reason>& out)
      : Check(kind_of(holder), subject, first_only, out) {
    holder_ = holder;
  }
  Check(ReasonKind kind, const std::string& subject, bool first_only, std::vector<Reason>& out)
      : kind_(kind), subject_(subject), first_only_(first_only), out_(out) {}

  void operator()(const char* resource, std::int64_t needs, std::int64_t used, std::int64_t limit) {
    if (exceeds(needs, used, limit)) add(resource, needs, used, limit);
  }

  // A job with GPUs starts while something of the month is left: what it will take of it is not
  // known before it ends.
  void month(const State& state, std::int64_t gpus_milli, const Limits& limits) {
    if (!has_month(limits) || gpus_milli == 0) return;
    const std::int64_t used =
        // Milliseconds, as the limit is; use is kept in thousandths of them.
        month_use_of(state, months_of(state, holder_), usages_of(state, holder_), subject_) / 1000;
    // What is used up is the month itself: `needs` is 0, and waiting for the first of the month is
    // the remedy.
    if (used < limits.gpu_ms_month) return;
    if (Reason* reason = add("gpu_ms_month", 0, used, limits.gpu_ms_month)) {
      reason->until = month_start(month_of(state.now) + 1);
    }
  }

 private:
  Reason* add(const char* resource, std::int64_t needs, std::int64_t used, std::int64_t limit) {
    // For a yes or no the first reason is enough. The others would cost an allocation each.
    if (first_only_ && !out_.empty()) return nullptr;
    Reason reason;
    reason.kind = kind_;
    reason.subject = subject_;
    reason.resource = resource;
    reason.needs = needs;
    reason.used = used;
    reason.limit = limit;
    // A limit may have been lowered under what is used.
    reason.free = std::max<std::int64_t>(limit - used, 0);
    out_.push_back(std::move(reason));
    return &out_.back();
  }

  ReasonKind kind_;
  HolderKind holder_ = HolderKind::kQueue;  // of limits of a holder
  const std::string& subject_;
  bool first_only_;
  std::vector<Reason>& out_;
};

std::int64_t used_of(const std::map<std::string, std::int64_t>& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

// Nearly every queue and user. Asked before any look-up by name.
bool is_without(const Limits& limits) {
  return limits.jobs_running < 0 && limits.cores < 0 && limits.gpus_milli < 0 &&
         limits.memory_bytes < 0 && limits.countables.empty() && limits.gpus_by_model.empty() &&
         limits.gpu_ms_month < 0 && limits.job == JobLimits{};
}

// The limits that is_within_limits does not look at by itself.
bool is_special(const Limits& limits) {
  return !limits.countables.empty() || !limits.gpus_by_model.empty() || has_month(limits) ||
         limits.job != JobLimits{};
}

void check_limits(const Limits& limits, const std::map<std::string, Usage>& usages,
                  const std::string& name, const JobSpec& spec, const Amount& amount, Check check) {
  if (is_without(limits)) return;
  static const Usage nothing;
  const auto at = usages.find(name);
  // A holder that has never used anything has no entry.
  const Usage& usage = at == usages.end() ? nothing : at->second;
  check("jobs", 1, usage.jobs_running, limits.jobs_running);
  check("cores", amount.cores, usage.cores, limits.cores);
  check("gpus_milli", amount.gpus_milli, usage.gpus_milli, limits.gpus_milli);
  check("memory_bytes", amount.memory_bytes, usage.memory_bytes, limits.memory_bytes);
  for (const Countable& limit : limits.countables) {
    // A job asks for countables of the cluster (licences) as a whole, beside what its tasks ask for
    // on nodes.
    const std::int64_t needs =
        amount_of(amount.countables, limit.name) + amount_of(spec.cluster_requests, limit.name);
    check(limit.name.c_str(), needs, used_of(usage.countables, limit.name), limit.amount);
  }
  for (const Countable& limit : limits.gpus_by_model) {
    check((std::string(kByModel) + limit.name).c_str(), amount_of(amount.gpus_by_model, limit.name),
          used_of(usage.gpus_by_model, limit.name), limit.amount);
  }
}

// And what holds for a start alone: limits of one job, now that it is known what it gets, and those
// by month.
void check_start(const State& state, const Limits& limits, const Amount& amount, Check check) {
  check("job_cores", amount.cores, 0, limits.job.cores);
  check("job_gpus_milli", amount.gpus_milli, 0, limits.job.gpus_milli);
  check("job_memory_bytes", amount.memory_bytes, 0, limits.job.memory_bytes);
  check.month(state, amount.gpus_milli, limits);
}

// Above any limit, and small enough that a few of them can be added.
constexpr std::int64_t kTooMuch = INT64_MAX / 4;

std::int64_t times(std::int64_t amount, std::int64_t elements) {
  return std::min(product_of(amount, elements), kTooMuch);
}

// The limits, and where there are none as much as Usage can count: what was asked for beyond that
// would wrap around to nothing, and every quota with it.
Limits countable_limits(Limits limits, const Amount& amount) {
  for (std::int64_t* one : {&limits.cores, &limits.gpus_milli, &limits.memory_bytes}) {
    if (*one < 0) *one = kTooMuch - 1;
  }
  const auto bound = [](std::vector<Countable>& of, const std::vector<Countable>& asked) {
    for (const Countable& one : asked) {
      const auto is_it = [&](const Countable& limit) { return limit.name == one.name; };
      if (std::none_of(of.begin(), of.end(), is_it)) of.push_back({one.name, kTooMuch - 1});
    }
  };
  bound(limits.countables, amount.countables);
  bound(limits.gpus_by_model, amount.gpus_by_model);
  return limits;
}

// What submitting `elements` such jobs would break of limits in which waiting jobs count.
std::vector<Reason> broken_by_asking(HolderKind holder, const std::string& name,
                                     const Limits& limits,
                                     const std::map<std::string, Usage>& asked, const JobSpec& spec,
                                     std::int64_t elements) {
  std::vector<Reason> out;
  // What elements would hold at least, all at once: a limit on what is asked for counts waiting and
  // running alike.
  Amount amount = least_amount(spec);
  for (std::int64_t* one : {&amount.cores, &amount.gpus_milli, &amount.memory_bytes}) {
    *one = times(*one, elements);
  }
  for (Countable& one : amount.countables) one.amount = times(one.amount, elements);
  for (Countable& one : amount.gpus_by_model) one.amount = times(one.amount, elements);
  Check check(holder, name, false, out);
  const auto at = asked.find(name);
  const std::int64_t jobs = at == asked.end() ? 0 : at->second.jobs_waiting;
  check("jobs", elements, jobs, limits.jobs_waiting);
  check_limits(countable_limits(limits, amount), asked, name, spec, amount, check);
  return out;
}

}  // namespace

std::vector<Reason> broken_limits(const State& state, const JobSpec& spec, const Amount& amount,
                                  bool first_only) {
  std::vector<Reason> out;
  // From the queue up to the root, and the user, project and domain: each may refuse on its own.
  each_holder(state, spec, [&](HolderKind holder, const std::string& name, const Limits& limits) {
    if (is_without(limits)) return;
    const Check check(holder, name, first_only, out);
    check_limits(limits, usages_of(state, holder), name, spec, amount, check);
    check_start(state, limits, amount, check);
  });
  // Licences and the like are limits of the whole cluster.
  Check cluster(ReasonKind::kClusterLimit, state.settings.name, first_only, out);
  for (const Countable& one : spec.cluster_requests) {
    cluster(one.name.c_str(), one.amount, used_of(state.usage.countables, one.name),
            amount_of(state.settings.countables, one.name));
  }
  return out;
}

bool is_within_limits(const State& state, const JobSpec& spec, const Account& account,
                      const Amount& amount) {
  // The short way for the usual cluster: limits on queues alone, by plain numbers. Both ways give
  // the same answer (within_limits_test).
  const bool by_name =
      !spec.cluster_requests.empty() || !state.user_limits.empty() ||
      (!spec.project.empty() && !state.projects.empty()) || !state.domains.empty() ||
      std::any_of(account.queues.begin(), account.queues.end(), [](const Account::OfQueue& queue) {
        return queue.declared != nullptr && is_special(queue.declared->limits);
      });
  if (by_name) return broken_limits(state, spec, amount, true).empty();
  // No look-ups: the account holds pointers to its queues and to their use.
  return std::none_of(account.queues.begin(), account.queues.end(),
                      [&](const Account::OfQueue& queue) {
                        if (queue.declared == nullptr) return false;
                        const Limits& limits = queue.declared->limits;
                        const Usage& used = *queue.usage;
                        return exceeds(1, used.jobs_running, limits.jobs_running) ||
                               exceeds(amount.cores, used.cores, limits.cores) ||
                               exceeds(amount.gpus_milli, used.gpus_milli, limits.gpus_milli) ||
                               exceeds(amount.memory_bytes, used.memory_bytes, limits.memory_bytes);
                      });
}

std::vector<Reason> broken_project_limits(const State& state, const JobSpec& spec,
                                          std::int64_t elements) {
  const auto project = state.projects.find(spec.project);
  if (project == state.projects.end()) return {};
  return broken_by_asking(HolderKind::kProject, spec.project, project->second.limits,
                          state.asked_by_project, spec, elements);
}

std::vector<Reason> broken_domain_limits(const State& state, const JobSpec& spec,
                                         std::int64_t elements) {
  const auto domain = state.domains.find(domain_of(state, spec));
  if (domain == state.domains.end()) return {};
  return broken_by_asking(HolderKind::kDomain, domain->first, domain->second.limits,
                          state.asked_by_domain, spec, elements);
}

std::string raised_by(const State& state, std::string_view level, const std::string& name) {
  // Only a project's domain has an administrator of its own who may raise it.
  const auto project = level == "project" ? state.projects.find(name) : state.projects.end();
  if (project == state.projects.end() || project->second.domain.empty()) {
    return "an administrator of the cluster";
  }
  return fmt::format("an administrator of domain {}, or of the cluster", project->second.domain);
}

const char* word(HolderKind holder) {
  switch (holder) {
    case HolderKind::kUser:
      return "user";
    case HolderKind::kProject:
      return "project";
    case HolderKind::kDomain:
      return "domain";
    case HolderKind::kQueue:
      return "queue";
  }
  return "";
}

HolderKind holder_of(const Reason& limit) {
  if (limit.kind == ReasonKind::kUserLimit) return HolderKind::kUser;
  if (limit.kind == ReasonKind::kProjectLimit) return HolderKind::kProject;
  return limit.kind == ReasonKind::kDomainLimit ? HolderKind::kDomain : HolderKind::kQueue;
}

const std::map<std::string, Usage>& usages_of(const State& state, HolderKind holder) {
  switch (holder) {
    case HolderKind::kUser:
      return state.usage_by_user;
    case HolderKind::kProject:
      return state.usage_by_project;
    case HolderKind::kDomain:
      return state.usage_by_domain;
    case HolderKind::kQueue:
      return state.usage_by_queue;
  }
  return state.usage_by_queue;
}

const std::map<std::string, MonthUse>& months_of(const State& state, HolderKind holder) {
  switch (holder) {
    case HolderKind::kUser:
      return state.month_by_user;
    case HolderKind::kProject:
      return state.month_by_project;
    case HolderKind::kDomain:
      return state.month_by_domain;
    case HolderKind::kQueue:
      return state.month_by_queue;
  }
  return state.month_by_queue;
}

bool may_use(const State& state, const Pool& pool, const std::string& user,
             const std::string& project) {
  // A pool that names nobody is open to all.
  if (pool.users.empty() && pool.projects.empty() && pool.domains.empty()) return true;
  const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
    return !name.empty() && std::find(list.begin(), list.end(), name) != list.end();
  };
  if (holds(pool.users, user) || holds(pool.projects, project)) return true;
  const auto known = state.users.find(user);
  if (known != state.users.end() && holds(pool.domains, known->second.domain)) return true;
  const auto of = state.projects.find(project);
  return of != state.projects.end() && holds(pool.domains, of->second.domain);
}

std::vector<Reason> declared_obstacles(const State& state, const JobSpec& spec) {
  std::vector<Reason> out = reservation_obstacles(state, spec);
  Reason reason;
  const Pool* pool = pool_of(state, spec);
  reason.subject = pool == nullptr ? spec.pool : pool->name;
  // To the job it is the same: no such pool, or one that takes nothing now.
  if (pool == nullptr || !pool->open) {
    reason.kind = ReasonKind::kPoolClosed;
    out.push_back(reason);
  }
  // The pool's longest time may have been shortened since the job was admitted.
  if (pool != nullptr && pool->time_limit_max.us > 0 && spec.time_limit > pool->time_limit_max) {
    reason.kind = ReasonKind::kTimeLimit;
    reason.resource = "seconds";
    reason.needs = spec.time_limit.us / 1'000'000;
    reason.limit = pool->time_limit_max.us / 1'000'000;
    out.push_back(reason);
  }
  return out;
}

}  // namespace dove::core
