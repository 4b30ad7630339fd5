#include "core/place/limits.h"

#include <algorithm>

#include "core/place/device_fit.h"
#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/slices.h"

namespace dove::core {
namespace {

bool exceeds(std::int64_t needs, std::int64_t used, std::int64_t limit) {
  return limit >= 0 && used + needs > limit && needs != 0;
}

// Collects what one holder of limits (a queue, a user) refuses.
class Check {
 public:
  Check(ReasonKind kind, const std::string& subject, bool first_only, std::vector<Reason>& out)
      : kind_(kind), subject_(subject), first_only_(first_only), out_(out) {}

  void operator()(const char* resource, std::int64_t needs, std::int64_t used, std::int64_t limit) {
    if (!exceeds(needs, used, limit)) return;
    if (first_only_ && !out_.empty()) return;
    Reason reason;
    reason.kind = kind_;
    reason.subject = subject_;
    reason.resource = resource;
    reason.needs = needs;
    reason.used = used;
    reason.limit = limit;
    reason.free = std::max<std::int64_t>(limit - used, 0);
    out_.push_back(std::move(reason));
  }

 private:
  ReasonKind kind_;
  const std::string& subject_;
  bool first_only_;
  std::vector<Reason>& out_;
};

std::int64_t used_of(const std::map<std::string, std::int64_t>& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

bool is_without(const Limits& limits) {
  return limits.jobs_running < 0 && limits.cores < 0 && limits.gpus_milli < 0 &&
         limits.memory_bytes < 0 && limits.countables.empty() && limits.gpus_by_model.empty();
}

void check_limits(const Limits& limits, const std::map<std::string, Usage>& usages,
                  const std::string& name, const JobSpec& spec, const Amount& amount, Check check) {
  if (is_without(limits)) return;
  static const Usage nothing;
  const auto at = usages.find(name);
  const Usage& usage = at == usages.end() ? nothing : at->second;
  check("jobs", 1, usage.jobs_running, limits.jobs_running);
  check("cores", amount.cores, usage.cores, limits.cores);
  check("gpus_milli", amount.gpus_milli, usage.gpus_milli, limits.gpus_milli);
  check("memory_bytes", amount.memory_bytes, usage.memory_bytes, limits.memory_bytes);
  for (const Countable& limit : limits.countables) {
    const std::int64_t needs =
        amount_of(amount.countables, limit.name) + amount_of(spec.cluster_requests, limit.name);
    check(limit.name.c_str(), needs, used_of(usage.countables, limit.name), limit.amount);
  }
  for (const Countable& limit : limits.gpus_by_model) {
    check((std::string(kByModel) + limit.name).c_str(), amount_of(amount.gpus_by_model, limit.name),
          used_of(usage.gpus_by_model, limit.name), limit.amount);
  }
}

}  // namespace

const Limits* limits_of_user(const State& state, const std::string& user) {
  if (state.user_limits.empty()) return nullptr;
  auto at = state.user_limits.find(user);
  if (at == state.user_limits.end()) at = state.user_limits.find("*");
  return at == state.user_limits.end() ? nullptr : &at->second.limits;
}

std::vector<Reason> broken_limits(const State& state, const JobSpec& spec, const Amount& amount,
                                  bool first_only) {
  std::vector<Reason> out;
  for (auto at = state.queues.find(spec.queue); at != state.queues.end();
       at = state.queues.find(at->second.parent)) {
    const Queue& queue = at->second;
    check_limits(queue.limits, state.usage_by_queue, queue.name, spec, amount,
                 Check(ReasonKind::kQueueLimit, queue.name, first_only, out));
    if (queue.parent.empty()) break;
  }
  if (const Limits* limits = limits_of_user(state, spec.user)) {
    check_limits(*limits, state.usage_by_user, spec.user, spec, amount,
                 Check(ReasonKind::kUserLimit, spec.user, first_only, out));
  }
  const auto project =
      spec.project.empty() ? state.projects.end() : state.projects.find(spec.project);
  if (project != state.projects.end()) {
    check_limits(project->second.limits, state.usage_by_project, spec.project, spec, amount,
                 Check(ReasonKind::kProjectLimit, spec.project, first_only, out));
  }
  Check cluster(ReasonKind::kClusterLimit, state.settings.name, first_only, out);
  for (const Countable& one : spec.cluster_requests) {
    cluster(one.name.c_str(), one.amount, used_of(state.usage.countables, one.name),
            amount_of(state.settings.countables, one.name));
  }
  return out;
}

bool is_within_limits(const State& state, const JobSpec& spec, const Account& account,
                      const Amount& amount) {
  const bool by_name =
      !spec.cluster_requests.empty() || !state.user_limits.empty() ||
      (!spec.project.empty() && !state.projects.empty()) ||
      std::any_of(account.queues.begin(), account.queues.end(), [](const Account::OfQueue& queue) {
        return queue.declared != nullptr && (!queue.declared->limits.countables.empty() ||
                                             !queue.declared->limits.gpus_by_model.empty());
      });
  if (by_name) return broken_limits(state, spec, amount, true).empty();
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
  std::vector<Reason> out;
  const auto project = state.projects.find(spec.project);
  if (project == state.projects.end()) return out;
  Amount amount = least_amount(spec);
  amount.cores *= elements;
  amount.gpus_milli *= elements;
  amount.memory_bytes *= elements;
  for (Countable& one : amount.countables) one.amount *= elements;
  for (Countable& one : amount.gpus_by_model) one.amount *= elements;
  const Limits& limits = project->second.limits;
  Check check(ReasonKind::kProjectLimit, spec.project, false, out);
  const auto asked = state.asked_by_project.find(spec.project);
  const std::int64_t jobs = asked == state.asked_by_project.end() ? 0 : asked->second.jobs_waiting;
  check("jobs", elements, jobs, limits.jobs_waiting);
  check_limits(limits, state.asked_by_project, spec.project, spec, amount, check);
  return out;
}

bool may_use(const State& state, const Pool& pool, const std::string& user,
             const std::string& project) {
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
  if (pool == nullptr || !pool->open) {
    reason.kind = ReasonKind::kPoolClosed;
    out.push_back(reason);
  }
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
