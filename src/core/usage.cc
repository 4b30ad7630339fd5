#include "core/usage.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/books.h"
#include "core/limits.h"
#include "core/past_use.h"

namespace dove::core {
namespace {

// Whether somebody limits, or is guaranteed, devices by model or slices by profile.
template <class Amounts>
bool names_kinds(const Amounts& amounts) {
  return !amounts.gpus_by_model.empty() ||
         std::any_of(amounts.countables.begin(), amounts.countables.end(),
                     [](const Countable& one) { return one.name.starts_with(kBySlice); });
}

bool somebody_names_kinds(const State& state) {
  const auto any = [](const auto& objects, auto test) {
    return std::any_of(objects.begin(), objects.end(),
                       [&](const auto& entry) { return test(entry.second); });
  };
  return any(state.queues,
             [](const Queue& queue) {
               return names_kinds(queue.limits) || names_kinds(queue.guaranteed);
             }) ||
         any(state.projects, [](const Project& project) { return names_kinds(project.limits); }) ||
         any(state.user_limits, [](const UserLimit& user) { return names_kinds(user.limits); });
}

void charge_all(const std::map<std::string, Usage>& usages, std::map<std::string, PastUse>& past,
                const State& state) {
  auto at = past.begin();
  for (const auto& [name, usage] : usages) {
    at = past.try_emplace(at, name);
    charge(at->second, usage, state.settings.fair_share_half_life, state.now);
    ++at;
  }
}

void charge_all(State& state) {
  charge_all(state.usage_by_user, state.past_by_user, state);
  charge_all(state.usage_by_queue, state.past_by_queue, state);
}

bool has_jobs(const Usage& usage) { return usage.jobs_waiting != 0 || usage.jobs_running != 0; }

// Whoever has no jobs uses nothing.
bool drop_unused(std::map<std::string, Usage>& usages) {
  return std::erase_if(usages, [](const auto& entry) { return !has_jobs(entry.second); }) > 0;
}

// Whether jobs count towards those above the queue, or would if it were declared.
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

void ways_changed(State& state, const std::string& queue) {
  if (is_way_of_jobs(state, queue)) return rebuild_usage(state);
  state.accounts.forget();
  settle_usage(state);
}

}  // namespace

void rebuild_usage(State& state) {
  state.counts_models = somebody_names_kinds(state);
  charge_all(state);
  state.accounts.forget();
  state.usage_by_user.clear();
  state.usage_by_queue.clear();
  state.usage_by_project.clear();
  state.asked_by_project.clear();
  state.usage = {};
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kEnded) count_asked(state, job, +1);
    if (job.phase == JobPhase::kWaiting) count_waiting(state, job, +1);
    if (job.phase != JobPhase::kActive) continue;
    count_running(state, job, +1);
    for (const PlacementRecord& record : job.attempts.back().placements) {
      if (record.stage != PlacementStage::kEnded) count_placement(state, job, record.placement, +1);
    }
  }
}

void settle_usage(State& state) {
  if (somebody_names_kinds(state) != state.counts_models) return rebuild_usage(state);
  charge_all(state);
  bool dropped = drop_unused(state.usage_by_user);
  dropped = drop_unused(state.usage_by_queue) || dropped;
  dropped = drop_unused(state.usage_by_project) || dropped;
  dropped = drop_unused(state.asked_by_project) || dropped;
  if (dropped) state.accounts.forget();
}

void put_queue(State& state, const Queue& queue) {
  const auto [at, is_new] = state.queues.try_emplace(queue.name);
  const bool moves = is_new || at->second.parent != queue.parent;
  at->second = queue;
  moves ? ways_changed(state, queue.name) : settle_usage(state);
}

void drop_queue(State& state, const std::string& name) {
  if (name != "default") state.queues.erase(name);
  ways_changed(state, name);
}

}  // namespace dove::core
