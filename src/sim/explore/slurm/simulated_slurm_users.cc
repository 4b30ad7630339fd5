// What the users of SimulatedSlurm say of jobs that they have submitted, and arrays of them, which
// Slurm takes apart when somebody names one task.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sim/explore/slurm/simulated_slurm.h"

namespace dove::sim {
namespace {

using slurm::JobPhase;

constexpr std::int64_t kHold_us = 1'800 * std::int64_t{1'000'000};

}  // namespace

// All tasks of an array.
void SimulatedSlurm::user_cancels(std::int64_t id) {
  std::vector<std::int64_t> all;
  for (const auto& [other, job] : jobs_) {
    const bool is_its = other == id || (job.seen.gate && job.seen.gate->array_job == id);
    if (is_its && job.seen.phase != JobPhase::kEnded) all.push_back(other);
  }
  for (const std::int64_t one : all) end(one, "CANCELLED", SIGTERM, Requeue::kNo);
}

// As deploy/slurm/job_submit.lua: the last word alone is there.
void SimulatedSlurm::write_word(std::int64_t id, bool holds) const {
  if (options_.gate_folder.empty()) return;
  const auto file = [&](bool hold) {
    return fmt::format("{}/{}.{}", options_.gate_folder, hold ? "hold" : "release", id);
  };
  std::filesystem::remove(file(!holds));
  std::ofstream made(file(holds));
}

void SimulatedSlurm::user_holds(std::int64_t id) {
  const auto found = jobs_.find(id);
  const bool waits = found != jobs_.end() && found->second.seen.phase == JobPhase::kWaiting;
  if (stopped_ || !waits) return;
  Record& job = found->second;
  // One that has been let go is no longer its user's to hold.
  if (job.seen.gate && !job.seen.gate->is_held) return;
  job.is_user_held = true;
  job.held_us = agenda_.now_us();
  if (job.seen.gate) write_word(id, true);
  agenda_.in(random_.around(kHold_us), [this, id] { user_releases(id); });
}

void SimulatedSlurm::user_releases(std::int64_t id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !found->second.is_user_held) return;
  found->second.is_user_held = false;
  if (found->second.seen.gate) write_word(id, false);
}

// It waits again, and is let go: its place was of the start before.
void SimulatedSlurm::user_requeues(std::int64_t id) {
  const auto found = jobs_.find(id);
  if (stopped_ || found == jobs_.end() || !found->second.may_requeue) return;
  if (found->second.seen.phase != JobPhase::kHolding) return;
  end(id, "REQUEUED", SIGTERM, Requeue::kStarts);
}

std::int64_t SimulatedSlurm::begin_array(int tasks, int at_once, int devices) {
  const std::int64_t id = begin_gated(devices, /*may_requeue=*/true);
  Record& job = jobs_.at(id);
  for (int i = 0; i < tasks; ++i) job.tasks_left.push_back(i);
  job.tasks_at_once = at_once;
  job.seen.gate->array_job = id;
  show_tasks(job);
  return id;
}

// "1-3%2".
void SimulatedSlurm::show_tasks(Record& job) {
  const std::vector<int>& left = job.tasks_left;
  std::string& text = job.seen.gate->array_tasks;
  text.clear();
  if (left.empty()) return;
  const bool is_range =
      left.size() > 1 && left.back() - left.front() + 1 == static_cast<int>(left.size());
  text = is_range ? fmt::format("{}-{}", left.front(), left.back())
                  : fmt::format("{}", fmt::join(left, ","));
  if (job.tasks_at_once > 0) text += fmt::format("%{}", job.tasks_at_once);
}

// The last one keeps the number of the array.
SimulatedSlurm::Record* SimulatedSlurm::take_out(std::int64_t array, int task) {
  const auto found = jobs_.find(array);
  if (found == jobs_.end() || found->second.seen.phase != JobPhase::kWaiting) return nullptr;
  Record& whole = found->second;
  const auto at = std::find(whole.tasks_left.begin(), whole.tasks_left.end(), task);
  if (at == whole.tasks_left.end()) return nullptr;
  whole.tasks_left.erase(at);
  show_tasks(whole);
  const std::string handle = fmt::format("{}_{}", array, task);
  if (whole.tasks_left.empty()) {
    whole.seen.gate->handle = handle;
    return &whole;
  }
  Record one = whole;
  one.seen.id = ++ids_;
  one.seen.gate->handle = handle;
  one.seen.gate->array_tasks.clear();
  one.tasks_left.clear();
  one.is_user_held = false;
  ++gate_jobs_begun_;
  return &(jobs_[one.seen.id] = std::move(one));
}

}  // namespace dove::sim
