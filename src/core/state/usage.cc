#include "core/state/usage.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/executors/foreign_use.h"
#include "core/state/holders/month_use.h"
#include "core/state/past/past_use.h"
#include "model/resource_names.h"

namespace dove::core {
namespace {

bool names_kinds(const std::vector<Countable>& countables,
                 const std::vector<Countable>& gpus_by_model) {
  return !gpus_by_model.empty() ||
         std::any_of(countables.begin(), countables.end(),
                     [](const Countable& one) { return one.name.starts_with(kBySlice); });
}

// Whether devices by model, or slices by profile, are limited or guaranteed.
bool names_kinds(const Limits& limits) {
  return names_kinds(limits.countables, limits.gpus_by_model);
}
bool names_kinds(const Queue& queue) {
  return names_kinds(queue.limits) ||
         names_kinds(queue.guaranteed.countables, queue.guaranteed.gpus_by_model);
}
bool names_kinds(const UserLimit& limit) { return names_kinds(limit.limits); }
bool names_kinds(const Project& project) { return names_kinds(project.limits); }
bool names_kinds(const Domain& domain) { return names_kinds(domain.limits); }

const char* level_of(const Queue&) { return "queue"; }
const char* level_of(const UserLimit&) { return "user"; }
const char* level_of(const Project&) { return "project"; }
const char* level_of(const Domain&) { return "domain"; }

bool somebody_names_kinds(const State& state) {
  const auto any = [](const auto& objects) {
    return std::any_of(objects.begin(), objects.end(),
                       [](const auto& entry) { return names_kinds(entry.second); });
  };
  return any(state.queues) || any(state.projects) || any(state.user_limits) || any(state.domains);
}

void charge_all(const std::map<std::string, Usage>& usages, std::map<std::string, PastUse>& past,
                const State& state) {
  // Both maps are in order of names, so the hint makes each insertion constant: this runs for
  // thousands of users after a change of limits.
  auto at = past.begin();
  for (const auto& [name, usage] : usages) {
    at = past.try_emplace(at, name);
    charge(at->second, usage, state.settings.fair_share_half_life, state.now);
    ++at;
  }
}

void charge_all(State& state) {
  // Before anything is counted in another way: past use is what was held, as it was counted then.
  charge_all(state.usage_by_user, state.past_by_user, state);
  charge_all(state.usage_by_queue, state.past_by_queue, state);
  charge_months(state);
}

// Or what an executor runs counts towards it.
bool has_jobs(const Usage& usage) {
  return usage.jobs_waiting != 0 || usage.jobs_running != 0 || usage.cores != 0 ||
         usage.gpus_milli != 0 || usage.memory_bytes != 0;
}

// Whoever has no jobs uses nothing.
bool drop_unused(std::map<std::string, Usage>& usages) {
  return std::erase_if(usages, [](const auto& entry) { return !has_jobs(entry.second); }) > 0;
}

// Whether jobs count towards those above the queue, or would if it were declared.
// Only then can a change of parents move anybody's usage.
bool is_way_of_jobs(const State& state, const std::string& name) {
  const auto holds_jobs = [&](const std::string& queue) {
    const auto usage = state.usage_by_queue.find(queue);
    return usage != state.usage_by_queue.end() && has_jobs(usage->second);
  };
  return holds_jobs(name) ||
         std::any_of(state.queues.begin(), state.queues.end(), [&](const auto& entry) {
           return entry.second.parent == name && holds_jobs(entry.first);
         });
}

// After limits or guarantees changed. `kinds`: one more, or one less, names kinds of devices.
// Nothing else is to be done again where the record before has left usage settled.
void settle(State& state, bool kinds) {
  // A file with many objects is applied as one batch of records. What the first has settled is not
  // settled again by each.
  const bool again = state.settled.value + 1 == state.head.value;
  if (!again || kinds) {
    // To count models, or to stop counting them, takes another pass over all jobs.
    if (somebody_names_kinds(state) != state.counts_models) return rebuild_usage(state);
  }
  if (!again) {
    charge_all(state);
    // Entries of nobody would otherwise stay for ever, and a fold that began with a snapshot would
    // lack them.
    bool dropped = drop_unused(state.usage_by_user);
    dropped = drop_unused(state.usage_by_queue) || dropped;
    dropped = drop_unused(state.usage_by_project) || dropped;
    dropped = drop_unused(state.asked_by_project) || dropped;
    dropped = drop_unused(state.usage_by_domain) || dropped;
    dropped = drop_unused(state.asked_by_domain) || dropped;
    // Accounts hold pointers into these maps.
    if (dropped) state.accounts.forget();
  }
  state.settled = state.head;
}

void ways_changed(State& state, const std::string& queue, bool kinds) {
  // Jobs count towards other queues now: everything is counted again. It is rare, and right by
  // construction.
  if (is_way_of_jobs(state, queue)) return rebuild_usage(state);
  // Nobody counts there; only pointers may have changed.
  state.accounts.forget();
  settle(state, kinds);
}

template <class Object>
void put(State& state, std::map<std::string, Object>& objects, const Object& object) {
  Object& kept = objects[object.name];
  // Before the object is replaced.
  const bool kinds = names_kinds(kept) != names_kinds(object);
  const bool months = has_month(kept.limits) || has_month(object.limits);
  kept = object;
  if (months) keep_months(state, level_of(object), object.name);
  settle(state, kinds);
}

template <class Object>
void drop(State& state, std::map<std::string, Object>& objects, const std::string& name) {
  const auto at = objects.find(name);
  const bool kinds = at != objects.end() && names_kinds(at->second);
  const bool months = at != objects.end() && has_month(at->second.limits);
  const char* level = level_of(Object());
  // After it is gone, so that what the remaining limits need is kept.
  if (at != objects.end()) objects.erase(at);
  if (months) keep_months(state, level, name);
  settle(state, kinds);
}

bool has_jobs(const std::map<std::string, Usage>& usages, const std::string& name) {
  const auto at = usages.find(name);
  return at != usages.end() && has_jobs(at->second);
}

// Jobs count towards other domains than before. Past use is not brought up to now: it does not
// change by that, and did not in logs from before domains were counted.
void jobs_moved(State& state) {
  charge_months(state);
  count_domains(state);
  keep_months(state);
}

const std::string* domain_in(const State& state, const std::string& project) {
  const auto at = state.projects.find(project);
  return at == state.projects.end() ? nullptr : &at->second.domain;
}

}  // namespace

void rebuild_usage(State& state) {
  // First, as count_placement reads it.
  state.counts_models = somebody_names_kinds(state);
  // Past use is brought up to now under the old counts; count_placement below then charges no time
  // at all.
  charge_all(state);
  state.accounts.forget();
  state.usage_by_user.clear();
  state.usage_by_queue.clear();
  state.usage_by_project.clear();
  state.asked_by_project.clear();
  state.usage_by_domain.clear();
  state.asked_by_domain.clear();
  state.usage = {};
  for (auto& [id, job] : state.jobs) {
    // What is limited by asking counts waiting and active jobs alike.
    if (job.phase != JobPhase::kEnded) count_asked(state, job, +1);
    if (job.phase == JobPhase::kWaiting) count_waiting(state, job, +1);
    // What is active was counted as waiting until its launch, and never is both.
    if (job.phase != JobPhase::kActive) continue;
    count_running(state, job, +1);
    for (const PlacementRecord& record : job.attempts.back().placements) {
      if (record.stage != PlacementStage::kEnded) count_placement(state, job, record.placement, +1);
    }
  }
  // What executors run outside the queues' jobs counts towards users too.
  count_all_foreign(state, +1);
  keep_months(state);
}

void count_domains(State& state) {
  // Domains are counted on a copy: they were added later, and the other counts of old logs must
  // stay bit for bit as they were.
  State copy = state;
  rebuild_usage(copy);
  state.usage_by_domain = std::move(copy.usage_by_domain);
  state.asked_by_domain = std::move(copy.asked_by_domain);
  state.accounts.forget();
}

void put_queue(State& state, const Queue& queue) {
  const auto [at, is_new] = state.queues.try_emplace(queue.name);
  if (!is_new && at->second.parent == queue.parent) return put(state, state.queues, queue);
  const bool kinds = names_kinds(at->second) != names_kinds(queue);
  const bool months = has_month(at->second.limits) || has_month(queue.limits);
  at->second = queue;
  if (months) keep_months(state, "queue", queue.name);
  ways_changed(state, queue.name, kinds);
}

void drop_queue(State& state, const std::string& name) {
  const auto at = state.queues.find(name);
  const bool kinds = at != state.queues.end() && names_kinds(at->second);
  const bool months = at != state.queues.end() && has_month(at->second.limits);
  // The default queue exists always; to delete it resets what was declared.
  if (name != "default" && at != state.queues.end()) state.queues.erase(at);
  if (months) keep_months(state, "queue", name);
  ways_changed(state, name, kinds);
}

void put_limit(State& state, const UserLimit& limit) { put(state, state.user_limits, limit); }

void drop_limit(State& state, const std::string& name) { drop(state, state.user_limits, name); }

void put_project(State& state, const Project& project) {
  const std::string* domain = domain_in(state, project.name);
  const bool moves = (domain == nullptr || *domain != project.domain) &&
                     has_jobs(state.asked_by_project, project.name);
  put(state, state.projects, project);
  if (moves) jobs_moved(state);
}

void drop_project(State& state, const std::string& name) {
  const bool moves = domain_in(state, name) != nullptr && has_jobs(state.asked_by_project, name);
  drop(state, state.projects, name);
  if (moves) jobs_moved(state);
}

void put_user(State& state, const UserDeclaration& user) {
  UserDeclaration& kept = state.users[user.name];
  const bool moves = kept.domain != user.domain && has_jobs(state.usage_by_user, user.name);
  kept = user;
  if (moves) jobs_moved(state);
}

// Those without limits, as all were once, leave past use where it is.
void put_domain(State& state, const Domain& domain) {
  Domain& kept = state.domains[domain.name];
  if (kept.limits != Limits{} || domain.limits != Limits{})
    return put(state, state.domains, domain);
  kept = domain;
}

void drop_domain_limits(State& state, const std::string& name) {
  const auto at = state.domains.find(name);
  if (at == state.domains.end()) return;
  if (at->second.limits != Limits{}) return drop(state, state.domains, name);
  state.domains.erase(at);
}

}  // namespace dove::core
