// What SimulatedSlurm does at a command, and what it shows of the allocations of its adapter.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include "sim/explore/slurm/simulated_slurm.h"
#include "slurm/fences/put_back.h"
#include "slurm/fences/standing_fences.h"
#include "slurm/gate/mark.h"
#include "slurm/plan.h"

namespace dove::sim {
namespace {

using slurm::JobPhase;
using slurm::JobSeen;

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kKillWait_us = 30 * kSecond_us;
constexpr const char kCluster[] = "dove";  // in the names of what it is asked for
constexpr const char kOurs[] = "root";     // as whom the adapter asks
// One command in kLost is lost, before or after it was obeyed; after one in kDies the caller dies.
constexpr std::uint64_t kLost = 200;
constexpr std::uint64_t kDies = 500;

Error silence() { return {ErrorKind::kTimeout, "slurm_command", "Slurm does not answer", ""}; }

// "gpu:g_2:1,gpu:g_3:1": 2 and 3.
std::vector<int> devices_of(std::string_view gres) {
  std::vector<int> devices;
  for (std::size_t at = 0; (at = gres.find("g_", at)) != std::string_view::npos; ++at) {
    devices.push_back(std::stoi(std::string(gres.substr(at + 2))));
  }
  return devices;
}

}  // namespace

Result<void> SimulatedSlurm::reached() {
  if (has_faults() && random_.one_in(kDies)) caller_is_dead_ = true;
  const bool is_mute = caller_is_dead_ || agenda_.now_us() < mute_until_us_;
  if (!is_mute && !(has_faults() && random_.one_in(kLost))) return {};
  ++troubles_;
  return silence();
}

// It was obeyed; whoever asked may not hear of it.
Result<void> SimulatedSlurm::answered() {
  if (has_faults() && random_.one_in(kDies)) caller_is_dead_ = true;
  if (!caller_is_dead_ && !(has_faults() && random_.one_in(kLost))) return {};
  ++troubles_;
  return silence();
}

// "17", or "17_3", a task of an array.
SimulatedSlurm::Record* SimulatedSlurm::find(const std::string& handle) {
  if (const std::size_t at = handle.find('_'); at != std::string::npos) {
    for (auto& [id, job] : jobs_) {
      if (job.seen.gate && job.seen.gate->handle == handle) return &job;
    }
    return take_out(std::stoll(handle), std::stoi(handle.substr(at + 1)));
  }
  const auto found = jobs_.find(std::stoll(handle));
  return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<JobSeen> SimulatedSlurm::jobs_seen() const {
  std::vector<JobSeen> seen;
  for (const auto& [id, job] : jobs_) {
    // squeue does not show what of other partitions has ended.
    if (job.seen.phase != JobPhase::kEnded || job.seen.gate) seen.push_back(job.seen);
  }
  return seen;
}

Result<slurm::Observed> SimulatedSlurm::observe() {
  TRY(reached());
  looked_us_ = agenda_.now_us();
  slurm::Observed seen;
  seen.nodes = nodes_seen();
  seen.jobs = jobs_seen();
  TRY(answered());
  nodes_shown_us_ = agenda_.now_us();
  return seen;
}

Result<std::vector<JobSeen>> SimulatedSlurm::observe_jobs(const std::vector<slurm::NodeSeen>&) {
  TRY(reached());
  looked_us_ = agenda_.now_us();
  std::vector<JobSeen> seen = jobs_seen();
  TRY(answered());
  return seen;
}

// What the adapter's job asks for, if that is free.
std::optional<slurm::NodeAllocation> SimulatedSlurm::room_for_ask(const Record& job) const {
  const std::vector<int> free = free_on(job.node);
  std::vector<int> cores = free_cores(job.node);
  if (!gives_lowest_) std::reverse(cores.begin(), cores.end());
  const auto is_free = [&](int one) { return std::count(free.begin(), free.end(), one) > 0; };
  const bool has_room = static_cast<int>(cores.size()) >= job.cores_asked &&
                        free_memory(job.node) >= job.memory_bytes && is_up(job.node) &&
                        std::all_of(job.devices_asked.begin(), job.devices_asked.end(), is_free);
  if (!has_room) return std::nullopt;
  cores.resize(static_cast<std::size_t>(job.cores_asked));
  return slurm::NodeAllocation{job.node, std::move(cores), job.devices_asked, job.memory_bytes};
}

// At once, or when there is room for it.
void SimulatedSlurm::begin_asked(std::int64_t id) {
  Record& job = jobs_.at(id);
  std::optional<slurm::NodeAllocation> held = room_for_ask(job);
  if (!held) return in(random_.around(5 * kSecond_us), id, [this, id] { begin_asked(id); });
  begin_holding(job, std::move(*held));
  ++given_;
}

Result<std::int64_t> SimulatedSlurm::ask(const slurm::Ask& ask) {
  TRY(reached());
  Record asked;
  asked.node = ask.node;
  asked.devices_asked = devices_of(ask.gres);
  asked.cores_asked = (ask.cpus + options_.threads_per_core - 1) /
                      options_.threads_per_core;  // it gives whole ones
  asked.limit_minutes = ask.limit_minutes;
  asked.memory_bytes = ask.memory_bytes;
  if (!ask.waits && !room_for_ask(asked)) {
    return Error{ErrorKind::kConflict, "no_room", "Slurm has no room", ""};
  }
  const std::int64_t id = ++ids_;
  Record& job = jobs_[id] = std::move(asked);
  job.seen.id = id;
  job.seen.name = ask.name;
  job.seen.user = kOurs;
  job.seen.state = "PENDING";
  job.seen.wants_devices = true;
  begin_asked(id);
  if (ask.is_marked_by_gate) {
    if (lua_marks_) job.seen.mark = slurm::placeholder_mark(ask.name);
    TRY(answered());
    return id;
  }
  TRY(answered());
  TRY(reached());
  job.seen.mark = slurm::placeholder_mark(ask.name);
  TRY(answered());
  return id;
}

bool SimulatedSlurm::is_ours(const Record& job) { return job.seen.user == kOurs; }

void SimulatedSlurm::administrator_cancels(std::int64_t id) {
  const auto found = jobs_.find(id);
  if (found != jobs_.end() && is_ours(found->second)) take_away(id, "an administrator ended it");
}

void SimulatedSlurm::administrator_drains(const std::string& name) {
  Node& node = node_named(name);
  if (stopped_ || node.theirs_us != 0) return;
  node.drained = "a fan is loud";
  node.theirs_us = std::max<std::int64_t>(agenda_.now_us(), 1);
}

void SimulatedSlurm::administrator_opens(const std::string& name) {
  Node& node = node_named(name);
  node.drained.clear();
  node.theirs_us = 0;
}

void SimulatedSlurm::end_ours(std::int64_t id, bool at_once) {
  Record& job = jobs_.at(id);
  if (job.seen.phase == JobPhase::kEnding && !at_once) return;
  const bool has_processes = inside_ != nullptr && inside_->runs_in(id);
  if (!has_processes) {
    jobs_.erase(id);
    return;
  }
  const auto over = [this, id] {
    inside_->killed(id);
    jobs_.erase(id);
  };
  if (at_once) return over();
  ++job.turn;
  job.seen.phase = JobPhase::kEnding;
  job.seen.state = "COMPLETING";
  in(random_.one_in(8) ? kKillWait_us : random_.around(5 * kSecond_us), id, over);
}

void SimulatedSlurm::take_away(std::int64_t id, const char* why, bool at_once) {
  const Record& job = jobs_.at(id);
  oracle_.note(fmt::format("Slurm job {} {} on {}: {}", id, job.seen.name, job.node, why));
  const auto key = slurm::read_placeholder_name(job.seen.name, kCluster);
  // What stands on a standing fence is not said by its name.
  const auto theirs = key ? static_cast<std::uint64_t>(key->first) : 0;
  // What Slurm runs in it ends with it, and the ledger has its cores until it has heard of that.
  if (job.seen.phase != JobPhase::kWaiting) oracle_.hold_lost(number_of(job.node), theirs);
  end_ours(id, at_once);
}

std::vector<const JobSeen*> SimulatedSlurm::ours() const {
  std::vector<const JobSeen*> all;
  for (const auto& [id, job] : jobs_) {
    if (is_ours(job)) all.push_back(&job.seen);
  }
  return all;
}

const JobSeen* SimulatedSlurm::find_job(std::int64_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second.seen;
}

std::int64_t SimulatedSlurm::unfinished() const {
  for (const auto& [id, job] : jobs_) {
    const bool is_to_end = job.seen.gate || job.is_queued || job.seen.restarts > 0;
    if (is_to_end && job.seen.phase != JobPhase::kEnded) return id;
  }
  return 0;
}

std::string SimulatedSlurm::held_for_us() const {
  for (const auto& [id, record] : jobs_) {
    const bool is_to_stay =
        record.seen.phase != JobPhase::kWaiting && slurm::is_standing_fence(record.seen, kCluster);
    if (record.seen.user == kOurs && !is_to_stay) return record.seen.name;
  }
  return "";
}

Oracle::Unheld SimulatedSlurm::not_held_for(const TaskFacts& task) const {
  if (task.node == 0 || task.node > options_.nodes.size()) return {};
  const std::string& node = options_.nodes[task.node - 1];
  const std::string name = slurm::placeholder_name(
      static_cast<std::int64_t>(task.job), static_cast<std::int64_t>(task.attempt), kCluster);
  std::set<std::int32_t> cores;
  std::set<std::int32_t> devices;
  for (const auto& [id, job] : jobs_) {
    if (job.seen.phase != JobPhase::kHolding || job.seen.allocations.front().node != node) continue;
    const slurm::NodeAllocation& held = job.seen.allocations.front();
    const bool is_its = job.seen.name == name;
    if (is_its) {
      const std::vector<int> threads = threads_of(held.cores);
      cores.insert(threads.begin(), threads.end());
    }
    if (is_its || slurm::is_standing_fence(job.seen, kCluster)) {
      devices.insert(held.devices.begin(), held.devices.end());
    }
  }
  for (const std::int32_t device : task.devices) {
    if (!devices.contains(device)) return {fmt::format("device {}", device), false};
  }
  for (const std::int32_t core : task.cores) {
    if (!cores.contains(core)) return {fmt::format("core {}", core), true};
  }
  return {};
}

Result<void> SimulatedSlurm::release(std::int64_t job) {
  TRY(reached());
  if (jobs_.contains(job)) end_ours(job, /*at_once=*/false);
  return answered();
}

Result<void> SimulatedSlurm::signal(std::int64_t allocation, int signal) {
  TRY(reached());
  if (jobs_.contains(allocation) && inside_ != nullptr) inside_->signalled(allocation, signal);
  return answered();
}

// Every third of its users wants a signal before the end.
Result<std::int64_t> SimulatedSlurm::warn(const std::string& handle) {
  TRY(reached());
  const Record* job = find(handle);
  if (job == nullptr) {
    return Error{ErrorKind::kConflict, "slurm_command", "Invalid job id", ""};
  }
  TRY(answered());
  return job->seen.id % 3 == 0 ? 90 : 0;
}

// Two commands, and a job that has ended meanwhile is not run again.
Result<void> SimulatedSlurm::requeue(const std::string& handle, const std::string& why) {
  if (!why.empty()) TRY(mark(handle, why));
  TRY(reached());
  Record* job = find(handle);
  if (job == nullptr) {
    return Error{ErrorKind::kConflict, "slurm_command", "Invalid job id", ""};
  }
  if (is_ours(*job) || !job->may_requeue) {
    oracle_.fail(fmt::format("Slurm job {} is put back, and may not run again", handle));
    return Error{ErrorKind::kConflict, "slurm_command", "Operation is disabled", ""};
  }
  if (job->seen.phase == JobPhase::kHolding) {
    if (slurm::is_spared(job->seen, now_s())) {
      oracle_.fail(fmt::format("Slurm job {} is put back {} s after its restart {}", handle,
                               now_s() - job->seen.started_s, job->seen.restarts));
    }
    ++put_back_;
    end(job->seen.id, "REQUEUED", SIGTERM, Requeue::kHeld);
  }
  return answered();
}

Result<void> SimulatedSlurm::suspend(std::int64_t job) {
  TRY(reached());
  const auto found = jobs_.find(job);
  const bool runs = found != jobs_.end() && found->second.seen.phase == JobPhase::kHolding;
  if (!runs) return Error{ErrorKind::kConflict, "slurm_command", "Job is not running", ""};
  found->second.seen.state = "SUSPENDED";
  ++found->second.turn;  // its limit does not come any more
  return answered();
}

Result<void> SimulatedSlurm::mark(const std::string& handle, const std::string& text) {
  TRY(reached());
  if (Record* job = find(handle)) job->seen.mark = text;
  return answered();
}

Result<void> SimulatedSlurm::set_limit(std::int64_t job, std::int64_t limit_minutes) {
  TRY(reached());
  const auto found = jobs_.find(job);
  const bool runs = found != jobs_.end() && found->second.seen.phase == JobPhase::kHolding;
  if (!runs) return Error{ErrorKind::kConflict, "slurm_command", "Job is not running", ""};
  set_end(found->second, limit_minutes);
  return answered();
}

Result<void> SimulatedSlurm::set_drain(const std::string& node, const std::string& reason) {
  TRY(reached());
  Node& it = node_named(node);
  // It may have looked before.
  if (it.theirs_us != 0 && nodes_shown_us_ > it.theirs_us) {
    oracle_.fail(fmt::format("the adapter {} {}, which an administrator of Slurm has drained",
                             reason.empty() ? "opens" : "drains", node));
  }
  it.drained = reason;
  it.theirs_us = 0;
  return answered();
}

// -- commands for jobs at the gate ---------------------------------------------------------------

Result<void> SimulatedSlurm::place(const std::string& handle, const slurm::GatePlacing& placing) {
  TRY(reached());
  Record* job = find(handle);
  const bool waits = job != nullptr && job->seen.phase == JobPhase::kWaiting;
  if (!waits) return Error{ErrorKind::kConflict, "slurm_command", "Job is no longer pending", ""};
  job->seen.mark = placing.mark;
  job->node = placing.nodes;
  return answered();
}

Result<void> SimulatedSlurm::let_go(const std::string& handle) {
  TRY(reached());
  Record* job = find(handle);
  const bool waits = job != nullptr && job->seen.phase == JobPhase::kWaiting;
  if (!waits) return Error{ErrorKind::kConflict, "slurm_command", "Job is no longer pending", ""};
  if (job->is_user_held && job->held_us < looked_us_) {
    oracle_.fail(fmt::format("Slurm job {} is let go, though its user holds it", handle));
  }
  job->seen.gate->is_held = false;
  ++job->turn;
  const std::int64_t id = job->seen.id;
  in(random_.around(2 * kSecond_us), id, [this, id] { try_start(id); });
  return answered();
}

Result<void> SimulatedSlurm::put_back(const std::string& handle, const slurm::GatePutBack& one) {
  TRY(reached());
  Record* job = find(handle);
  const bool is_there = job != nullptr && job->seen.phase != JobPhase::kEnded;
  const bool has_ended = job != nullptr && !is_there && !one.waits && one.may_requeue;
  if (!is_there && !has_ended) {
    return Error{ErrorKind::kConflict, "slurm_command", "Invalid job id", ""};
  }
  if (one.waits) {
    job->seen.mark = one.mark;  // also of one that has begun since
    if (job->seen.phase == JobPhase::kWaiting) {
      job->seen.gate->is_held = true;
      ++job->turn;
    }
  } else if (!one.may_requeue) {
    end(job->seen.id, "CANCELLED", SIGTERM, Requeue::kNo);
  } else if (job->seen.phase == JobPhase::kHolding) {
    end(job->seen.id, "REQUEUED", SIGTERM, Requeue::kHeld);
  }
  return answered();
}

}  // namespace dove::sim
