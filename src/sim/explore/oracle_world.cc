// What the oracle holds of the physical world: which tasks run where, and what of a node is in use.
#include <fmt/format.h>

#include <algorithm>

#include "sim/explore/oracle.h"

namespace dove::sim {
namespace {

std::string name_of(const TaskFacts& task) {
  return fmt::format("task {} of job {} attempt {} on node {}", task.rank, task.job, task.attempt,
                     task.node);
}

}  // namespace

void Oracle::use(InUse& used, std::int32_t id, std::int32_t milli, const TaskFacts& task,
                 const char* what) {
  const bool is_core = &used == &cores_in_use_[task.node];
  std::map<std::uint64_t, User>& users = used[id];
  for (const auto& [job, user] : users) {
    if (job == task.job || user.milli + milli <= kWholeDevice_milli) continue;
    // Which cores it has there, the ledger is told; it cannot always take them over (loose_).
    const bool may_overlap =
        is_core && (user.is_beside || task.is_beside) &&
        (has_loose_cores(task.node, job) || has_loose_cores(task.node, task.job));
    if (may_overlap) continue;
    fail(fmt::format("{} starts on {} {}, which a task of job {} still uses", name_of(task), what,
                     id, job));
  }
  User& mine = users[task.job];
  ++mine.tasks;
  mine.milli = milli;
  mine.is_beside = task.is_beside;
}

void Oracle::leave(InUse& used, std::int32_t id, std::uint64_t job) {
  const auto found = used.find(id);
  if (found == used.end()) return;
  const auto user = found->second.find(job);
  if (user != found->second.end() && --user->second.tasks <= 0) found->second.erase(user);
}

// Each device of it is one of the placement's: the ledger would count it for another.
void Oracle::check_foreign_devices(const core::Job& job) {
  const core::Attempt& attempt = job.attempts.back();
  const auto runs = foreign_tasks_.find({job.id.value, attempt.number});
  if (attempt.stage != Stage::kRunning || runs == foreign_tasks_.end()) return;
  std::set<std::int32_t> given;
  for (const DeviceGrant& grant : attempt.placements.front().placement->devices) {
    given.insert(grant.device);
  }
  if (given != std::set<std::int32_t>(runs->second.devices.begin(), runs->second.devices.end())) {
    fail(fmt::format("{} runs on other devices than the ledger gave it", name_of(runs->second)));
  }
}

void Oracle::foreign_task_started(const TaskFacts& task) {
  foreign_started(task);
  const auto found = attempts_.find({task.job, task.attempt});
  if (found == attempts_.end() || found->second.nodes.count(task.node) == 0) return;
  foreign_tasks_[{task.job, task.attempt}] = task;
  ++live_[task.job][task.attempt];
  ++found->second.live;
  if (found->second.started_us == 0) found->second.started_us = agenda_.now_us();
}

void Oracle::task_started(std::int64_t at_us, const TaskFacts& task) {
  ++tasks_started_;
  if (task.foreign != 0) return foreign_task_started(task);
  const auto found = attempts_.find({task.job, task.attempt});
  if (found == attempts_.end() || found->second.nodes.count(task.node) == 0) {
    return fail(name_of(task) + " starts without a durable launch, or after its job was over");
  }
  Attempt& attempt = found->second;
  if (!attempt.started.insert({task.rank, task.node}).second) {
    return fail(name_of(task) + " starts a second time");
  }
  for (const auto& [number, tasks] : live_[task.job]) {
    if (number != task.attempt && tasks > 0) {
      return fail(fmt::format("{} starts while attempt {} still runs ({} tasks)", name_of(task),
                              number, tasks));
    }
  }
  check_held(task);
  ++live_[task.job][task.attempt];
  ++attempt.live;
  attempt.is_beside = task.is_beside;
  if (attempt.started_us == 0) attempt.started_in = newest_epoch_;
  if (attempt.started_us == 0) attempt.started_us = at_us;
  use_memory(task, attempt.nodes.at(task.node));
  for (const std::int32_t core : task.cores) {
    use(cores_in_use_[task.node], core, kWholeDevice_milli, task, "core");
    check_foreign(foreign_cores_, core, task, "core");
  }
  for (const std::int32_t id : task.devices) {
    use(devices_in_use_[task.node], id, task.share_milli, task, "device");
    check_foreign(foreign_devices_, id, task, "device");
  }
}

void Oracle::check_foreign(const Foreign& foreign, std::int32_t id, const TaskFacts& task,
                           const char* what) {
  const auto found = foreign.find({task.node, id});
  if (found == foreign.end() || is_unguarded(task.node, task.job)) return;
  if (&foreign == &foreign_cores_ && loose_.count({task.node, task.job}) != 0) return;
  fail(fmt::format("{} starts on {} {}, which foreign job {} uses", name_of(task), what, id,
                   found->second));
}

void Oracle::use_foreign(Foreign& foreign, const InUse& used, std::int32_t id,
                         const TaskFacts& task, const char* what) {
  foreign[{task.node, id}] = task.foreign;
  const auto users = used.find(id);
  if (users == used.end()) return;
  for (const auto& [job, user] : users->second) {
    const bool is_loose = &foreign == &foreign_cores_ && loose_.count({task.node, job}) != 0;
    if (is_loose || is_unguarded(task.node, job)) continue;
    // Ours first: its records are what is shown.
    fail(fmt::format("a task of job {} uses {} {} of node {}, which foreign job {} is given", job,
                     what, id, task.node, task.foreign));
  }
}

void Oracle::forget_lost_holds(std::uint64_t job) {
  for (auto* all : {&unguarded_, &loose_}) {
    std::erase_if(*all, [job](const auto& one) { return one.second == job; });
  }
}

bool Oracle::has_loose_cores(std::uint32_t node) const {
  // The ledger may not know yet that their tasks are over.
  for (const auto* all : {&unguarded_, &loose_}) {
    const auto at = all->lower_bound({node, 0});
    if (at != all->end() && at->first == node) return true;
  }
  return false;
}

void Oracle::check_held(const TaskFacts& task) {
  if (!unheld_ || is_unguarded(task.node, task.job)) return;
  const Unheld unheld = unheld_(task);
  if (unheld.what.empty()) return;
  if (unheld.is_core && has_loose_cores(task.node)) {
    loose_.insert({task.node, task.job});
    return;
  }
  fail(fmt::format("{} starts on {}, which nobody holds for it beside us", name_of(task),
                   unheld.what));
}

void Oracle::use_memory(const TaskFacts& task, std::int64_t bytes) {
  Share& share = memory_in_use_[task.node][task.job];
  share.bytes = bytes;
  if (share.tasks++ == 0) check_memory(task.node, name_of(task));
}

// What nobody holds beside us does not count: others may have it.
void Oracle::check_memory(std::uint32_t node, const std::string& who) {
  if (memory_bytes_ == 0) return;
  std::int64_t bytes = 0;
  for (const auto& [job, share] : memory_in_use_[node]) {
    if (!is_unguarded(node, job)) bytes += share.bytes;
  }
  for (const auto& [job, theirs] : foreign_memory_[node]) bytes += theirs;
  if (bytes <= memory_bytes_) return;
  fail(fmt::format(
      "{} starts, and {} bytes of memory of node {} are given to jobs that run: it has {}", who,
      bytes, node, memory_bytes_));
}

void Oracle::hold_lost(std::uint32_t node, std::uint64_t job) {
  if (job != 0) {
    unguarded_.insert({node, job});
    return;
  }
  for (const auto& [key, attempt] : attempts_) {
    if (attempt.nodes.count(node) != 0) unguarded_.insert({node, key.first});
  }
}

std::map<std::uint64_t, std::vector<std::int32_t>> Oracle::unguarded_devices(
    std::uint32_t node) const {
  std::map<std::uint64_t, std::vector<std::int32_t>> devices;
  const auto here = devices_in_use_.find(node);
  if (here == devices_in_use_.end()) return devices;
  for (const auto& [id, users] : here->second) {
    for (const auto& [job, user] : users) {
      if (is_unguarded(node, job)) devices[job].push_back(id);
    }
  }
  return devices;
}

bool Oracle::runs_there(std::uint32_t node, std::uint64_t job) const {
  const auto here = memory_in_use_.find(node);
  return here != memory_in_use_.end() && here->second.count(job) != 0;
}

bool Oracle::has_ended(std::uint64_t job, std::uint32_t attempt) const {
  const auto found = attempts_.lower_bound({job, attempt});
  return found == attempts_.end() || found->first != Key{job, attempt} ||
         (std::next(found) != attempts_.end() && std::next(found)->first.first == job);
}

std::uint64_t Oracle::tasks_running() const {
  std::uint64_t running = 0;
  for (const auto& [job, attempts] : live_) {
    for (const auto& [attempt, tasks] : attempts) running += tasks;
  }
  return running;
}

void Oracle::task_over(const TaskFacts& task, const TaskExit& exit) {
  if (exit.cause == "fenced") ++tasks_fenced_;
  if (task.foreign != 0) {
    foreign_over(task);
    if (foreign_tasks_.erase({task.job, task.attempt}) == 0) return;
  }
  const auto job = live_.find(task.job);
  if (job != live_.end()) {
    if (--job->second[task.attempt] == 0) job->second.erase(task.attempt);
    if (job->second.empty()) live_.erase(job);
  }
  auto& shares = memory_in_use_[task.node];
  const auto share = shares.find(task.job);
  if (share != shares.end() && --share->second.tasks <= 0) shares.erase(share);
  for (const std::int32_t core : task.cores) leave(cores_in_use_[task.node], core, task.job);
  for (const std::int32_t id : task.devices) leave(devices_in_use_[task.node], id, task.job);
  // Whoever ends it beside us, the ledger hears of a signal alone.
  const bool fails = exit.exit_code != 0 || (task.is_beside && exit.signal != 0);
  if (fails && exit.cause.empty()) own_failures_[task.job].insert(task.attempt);
  const auto found = attempts_.find({task.job, task.attempt});
  if (found == attempts_.end()) return;
  --found->second.live;
  found->second.over_us = agenda_.now_us();
  if (exit.ok()) ++found->second.ended_well;
}

}  // namespace dove::sim
