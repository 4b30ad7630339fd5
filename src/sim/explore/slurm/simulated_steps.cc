#include "sim/explore/slurm/simulated_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr int kSignalled = 128;  // srun's code of a task that a signal ended, without the signal
// One srun in that many: nobody sees how it ends; it is killed; it cannot begin.
constexpr std::uint64_t kLost = 40;
constexpr std::uint64_t kKilled = 40;
constexpr std::uint64_t kFails = 60;
// One call in kNoAnswer fails; with one begin in kDies the adapter dies.
constexpr std::uint64_t kNoAnswer = 400;
constexpr std::uint64_t kDies = 12;

Error gone() { return {ErrorKind::kUnavailable, "no_adapter", "the adapter has been killed", ""}; }
Error unreadable() {
  return {ErrorKind::kUnavailable, "no_state_directory", "cannot read the state directory", ""};
}

std::uint64_t number_in(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? 0 : std::stoull(found->second);
}

}  // namespace

SimulatedSteps::SimulatedSteps(Agenda& agenda, Oracle& oracle, SimulatedSlurm& slurm,
                               bool has_faults, std::uint64_t seed)
    : agenda_(agenda), oracle_(oracle), slurm_(slurm), has_faults_(has_faults), random_(seed) {
  slurm_.set_inside(this);
}

// -- what the adapter does -----------------------------------------------------------------------

Result<std::vector<slurm::StepSeen>> SimulatedSteps::all() {
  if (slurm_.caller_is_dead()) return gone();
  if (has_faults_ && random_.one_in(kNoAnswer)) {
    slurm_.count_trouble();
    return unreadable();
  }
  std::vector<slurm::StepSeen> seen;
  for (const auto& [key, srun] : sruns_) seen.push_back(srun.seen);
  return seen;
}

Result<void> SimulatedSteps::begin(const slurm::StepWanted& step) {
  if (slurm_.caller_is_dead()) return gone();
  if (has_faults_ && random_.one_in(kNoAnswer)) {
    return Error{ErrorKind::kInternal, "cannot_start", "no process can be started", ""};
  }
  const slurm::PlaceholderKey& key = step.work.key;
  if (sruns_.contains(key)) {
    oracle_.fail(fmt::format("the adapter begins job {} attempt {} on {}, which it has begun",
                             key.job, key.attempt, key.node));
  }
  Srun& srun = sruns_[key];
  srun.number = ++begun_;
  srun.seen.key = key;
  srun.seen.slurm_job = step.slurm_job;
  // Slurm is slow now and then.
  const std::int64_t delay_us =
      random_.around(has_faults_ && random_.one_in(8) ? 120 * kSecond_us : kSecond_us);
  agenda_.in(delay_us, [this, number = begun_, step] { begin_tasks(number, step); });
  if (!has_faults_) return {};
  break_later(begun_);
  if (!random_.one_in(kDies)) return {};
  slurm_.set_caller_dead(true);
  if (random_.one_in(2)) lose_all();
  return gone();
}

void SimulatedSteps::break_later(std::uint64_t number) {
  if (random_.one_in(kKilled))
    return end_srun(number, kSignalled + SIGKILL, random_.around(1'800 * kSecond_us));
  if (!random_.one_in(kLost)) return;
  agenda_.in(random_.around(1'800 * kSecond_us), [this, number] {
    Srun* const srun = find(number);
    if (srun == nullptr || srun->seen.state != slurm::StepSeen::State::kRunning) return;
    srun->seen.state = slurm::StepSeen::State::kLost;
    ++lost_;
  });
}

Result<void> SimulatedSteps::signal(const slurm::StepSeen& step, int signal, int number,
                                    std::int64_t at_s) {
  if (slurm_.caller_is_dead()) return gone();
  if (const auto found = sruns_.find(step.key); found != sruns_.end()) {
    slurm::StepSeen& seen = found->second.seen;
    if (seen.stop_since_s == 0) seen.stop_since_s = at_s;
    seen.signals = number;
  }
  return slurm_.signal(step.slurm_job, signal);
}

Result<void> SimulatedSteps::warn(const slurm::StepSeen& step, const slurm::Warning& warning) {
  if (slurm_.caller_is_dead()) return gone();
  if (!runs_in(step.slurm_job)) {
    return Error{ErrorKind::kConflict, "not_begun", "its first step has not begun", ""};
  }
  if (const auto found = sruns_.find(step.key); found != sruns_.end()) {
    found->second.seen.is_warned = true;
  }
  return slurm_.signal(step.slurm_job, warning.signal);
}

Result<void> SimulatedSteps::give_up(const slurm::PlaceholderKey& key) {
  if (slurm_.caller_is_dead()) return gone();
  const auto found = sruns_.find(key);
  if (found == sruns_.end()) return {};
  found->second.seen.is_given_up = true;
  end_srun(found->second.number, kSignalled + SIGKILL, 5 * kSecond_us);
  return {};
}

void SimulatedSteps::forget(const slurm::PlaceholderKey& key) {
  if (slurm_.caller_is_dead()) return;
  const auto found = sruns_.find(key);
  if (found == sruns_.end()) return;
  if (found->second.seen.state == slurm::StepSeen::State::kRunning) {
    oracle_.fail(fmt::format("the adapter forgets job {} attempt {} on {}, which runs", key.job,
                             key.attempt, key.node));
  }
  sruns_.erase(found);
}

// -- sruns ---------------------------------------------------------------------------------------

SimulatedSteps::Srun* SimulatedSteps::find(std::uint64_t number) {
  for (auto& [key, srun] : sruns_) {
    if (srun.number == number) return &srun;
  }
  return nullptr;
}

void SimulatedSteps::say(Srun& srun, const std::string& line) {
  srun.seen.said += "srun: error: " + line + "\n";
}

void SimulatedSteps::end_srun(std::uint64_t number, int code, std::int64_t delay_us) {
  agenda_.in(delay_us, [this, number, code] {
    Srun* const srun = find(number);
    if (srun == nullptr || srun->seen.state != slurm::StepSeen::State::kRunning) return;
    srun->seen.state = slurm::StepSeen::State::kEnded;
    srun->seen.code = code;
  });
}

// Whoever began it may be gone, and the srun goes on.
void SimulatedSteps::begin_tasks(std::uint64_t number, const slurm::StepWanted& step) {
  Srun* const srun = find(number);
  // One that was killed begins nothing any more.
  if (srun != nullptr && srun->seen.state == slurm::StepSeen::State::kEnded) return;
  const slurm::JobSeen* job = slurm_.find_job(step.slurm_job);
  const bool is_there = job != nullptr && job->phase == slurm::JobPhase::kHolding;
  if (!is_there || (has_faults_ && random_.one_in(kFails))) {
    if (srun != nullptr) {
      say(*srun, is_there ? "Unable to create step: Slurm backup controller in standby mode"
                          : "Unable to confirm allocation: Invalid job id specified");
    }
    return end_srun(number, 1, random_.around(kSecond_us));
  }
  const bool is_script = !step.work.program->script.empty();
  const int tasks = is_script ? 1 : static_cast<int>(step.work.ranks.size());
  if (srun != nullptr) srun->tasks = tasks;
  const slurm::NodeAllocation held = job->allocations.front();
  for (int place = 0; place < tasks; ++place) begin_task(number, step, held, place);
}

void SimulatedSteps::begin_task(std::uint64_t number, const slurm::StepWanted& step,
                                const slurm::NodeAllocation& held, int place) {
  const slurm::WantedWork& work = step.work;
  Task task;
  task.srun = number;
  task.place = place;
  task.facts.node = slurm_.number_of(held.node);
  task.facts.job = static_cast<std::uint64_t>(work.key.job);
  task.facts.attempt = static_cast<std::uint32_t>(work.key.attempt);
  task.facts.rank = static_cast<std::uint32_t>(work.ranks.at(static_cast<std::size_t>(place)));
  task.facts.cores = slurm_.threads_of(held.cores);
  task.facts.is_beside = true;
  const auto& files = work.program->tasks.at(static_cast<std::size_t>(place));
  for (std::size_t i = 0; i < held.devices.size(); ++i) {
    const bool is_its = !files.devices || std::count(files.devices->begin(), files.devices->end(),
                                                     static_cast<int>(i)) > 0;
    if (is_its) task.facts.devices.push_back(held.devices[i]);
  }
  task.is_deaf = has_faults_ && random_.one_in(6);
  TaskExit exit{static_cast<Rank>(task.facts.rank), 0, 0, ""};
  auto run_us = static_cast<std::int64_t>(number_in(work.program->environment, "EXPLORE_RUN_US"));
  if (random_.below(100) < number_in(work.program->environment, "EXPLORE_FAILS_PERCENT")) {
    exit.exit_code = 1;
    run_us /= 2;
  }
  oracle_.task_started(agenda_.now_us(), task.facts);
  const std::uint64_t id = ++tasks_begun_;
  tasks_[step.slurm_job][id] = std::move(task);
  agenda_.in(run_us, [this, id, exit] { end_task(id, exit); });
}

void SimulatedSteps::end_task(std::uint64_t id, TaskExit exit) {
  const auto all = std::find_if(tasks_.begin(), tasks_.end(),
                                [id](const auto& one) { return one.second.contains(id); });
  if (all == tasks_.end()) return;
  const Task task = all->second.at(id);
  all->second.erase(id);
  if (all->second.empty()) tasks_.erase(all);
  oracle_.task_over(task.facts, exit);
  Srun* const srun = find(task.srun);
  const bool hears =
      srun != nullptr && !srun->is_numb && srun->seen.state == slurm::StepSeen::State::kRunning;
  if (!hears) return;
  if (exit.signal != 0) {
    say(*srun, fmt::format("{}: task {}: {}", srun->seen.key.node, task.place,
                           ::sigdescr_np(exit.signal)));
    srun->code = std::max(srun->code, kSignalled + exit.signal);
  } else if (exit.exit_code != 0) {
    say(*srun, fmt::format("{}: task {}: Exited with exit code {}", srun->seen.key.node, task.place,
                           exit.exit_code));
    srun->code = std::max(srun->code, exit.exit_code);
  }
  if (--srun->tasks > 0) return;
  end_srun(task.srun, srun->code,
           random_.around(has_faults_ && random_.one_in(4) ? 60 * kSecond_us : kSecond_us));
}

// -- allocations ---------------------------------------------------------------------------------

bool SimulatedSteps::runs_in(std::int64_t allocation) const { return tasks_.contains(allocation); }

void SimulatedSteps::signalled(std::int64_t allocation, int signal) {
  const auto found = tasks_.find(allocation);
  if (found == tasks_.end() || (signal != SIGKILL && signal != SIGTERM)) return;
  for (const auto& [id, task] : found->second) {
    if (signal == SIGTERM && task.is_deaf) continue;
    const TaskExit exit{static_cast<Rank>(task.facts.rank), 0, signal, ""};
    agenda_.in(random_.around(3 * kSecond_us), [this, id = id, exit] { end_task(id, exit); });
  }
}

void SimulatedSteps::killed(std::int64_t allocation) {
  const auto found = tasks_.find(allocation);
  if (found == tasks_.end()) return;
  const Tasks all = found->second;
  for (const auto& [id, task] : all) {
    Srun* const srun = find(task.srun);
    if (srun != nullptr && random_.one_in(2)) srun->is_numb = true;
    end_task(id, TaskExit{static_cast<Rank>(task.facts.rank), 0, SIGKILL, ""});
  }
}

}  // namespace dove::sim
