#include "sim/explore/simulated_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "slurm/gate/mark.h"
#include "slurm/plan.h"
#include "slurm/standing_fences.h"

namespace dove::sim {
namespace {

using slurm::JobPhase;
using slurm::JobSeen;

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
// How long a record of a job that has ended stays (MinJobAge).
constexpr std::int64_t kRecordKept_us = 300 * kSecond_us;
constexpr std::int64_t kMemory_bytes = 1 << 20;
constexpr const char kCluster[] = "dove";  // in the names of what it asks for
constexpr const char kOurs[] = "root";     // as whom the adapter asks
// One command in kLost is lost, before or after it was obeyed; after one in kDies the caller dies.
constexpr std::uint64_t kLost = 200;
constexpr std::uint64_t kDies = 500;

Error silence() { return {ErrorKind::kTimeout, "slurm_command", "Slurm does not answer", ""}; }

bool uses_devices(const JobSeen& job) {
  return job.phase == JobPhase::kHolding || job.phase == JobPhase::kEnding;
}

// The first `count` of a node's, without those that a job has.
template <class Records>
std::vector<int> free_of(const Records& jobs, const std::string& node,
                         std::vector<int> slurm::HeldOnNode::*part, std::int32_t count) {
  std::vector<bool> taken(static_cast<std::size_t>(count));
  for (const auto& [id, job] : jobs) {
    if (!uses_devices(job.seen) || job.seen.held.front().node != node) continue;
    if (part == &slurm::HeldOnNode::cores && job.seen.is_suspended()) continue;
    for (const int one : job.seen.held.front().*part) taken[static_cast<std::size_t>(one)] = true;
  }
  std::vector<int> free;
  for (int i = 0; i < count; ++i) {
    if (!taken[static_cast<std::size_t>(i)]) free.push_back(i);
  }
  return free;
}

// "gpu:g_2:1,gpu:g_3:1": 2 and 3.
std::vector<int> devices_of(std::string_view gres) {
  std::vector<int> devices;
  for (std::size_t at = 0; (at = gres.find("g_", at)) != std::string_view::npos; ++at) {
    devices.push_back(std::stoi(std::string(gres.substr(at + 2))));
  }
  return devices;
}

}  // namespace

std::vector<std::int32_t> thread_order(std::int32_t cpus, std::int32_t threads_per_core) {
  std::vector<std::int32_t> order;
  const std::int32_t cores = cpus / threads_per_core;
  for (std::int32_t core = 0; core < cores; ++core) {
    for (std::int32_t i = 0; i < threads_per_core; ++i) order.push_back(core + i * cores);
  }
  return order;
}

SimulatedSlurm::SimulatedSlurm(Agenda& agenda, Oracle& oracle, SimulatedSlurmOptions options)
    : agenda_(agenda), oracle_(oracle), options_(std::move(options)), random_(options_.seed) {
  for (const std::string& name : options_.nodes) {
    slurm::NodeSeen& node = nodes_.emplace_back();
    node.name = name;
    node.cores_per_socket = options_.cores_per_node / options_.threads_per_core;
    node.cpus_per_core = options_.threads_per_core;
    for (int i = 0; i < options_.gpus_per_node; ++i) {
      node.device_types.push_back(fmt::format("g_{}", i));
    }
  }
  lua_marks_ = !one_in(4);
  gives_lowest_ = !one_in(4);
}

void SimulatedSlurm::start() {
  if (nodes_.empty()) return;
  next_job();
  if (options_.faults_percent > 0) agenda_.in(some(12 * kHour_us), [this] { fall_mute(); });
}

void SimulatedSlurm::fall_mute() {
  if (stopped_) return;
  mute_until_us_ = agenda_.now_us() + some(600 * kSecond_us);
  agenda_.in(some(12 * kHour_us), [this] { fall_mute(); });
}

// -- its users -----------------------------------------------------------------------------------

// A job every few minutes, so that most of our launches meet one.
void SimulatedSlurm::next_job() {
  if (stopped_) return;
  const int devices = 1 + static_cast<int>(random_.below(3));
  if (one_in(2)) {
    begin_open(devices);
  } else {
    const std::int64_t id = begin_gated(devices, !one_in(4));
    if (one_in(6)) agenda_.in(some(kHour_us), [this, id] { user_cancels(id); });
  }
  agenda_.in(some(kHour_us / 4), [this] { next_job(); });
}

std::int64_t SimulatedSlurm::begin_open(int devices) {
  const std::string& node = nodes_[random_.below(nodes_.size())].name;
  std::vector<int> free = free_on(node);
  if (static_cast<int>(free.size()) < devices || free_cores(node).empty() || !is_up(node)) return 0;
  free.resize(static_cast<std::size_t>(devices));
  const std::int64_t id = ++ids_;
  Record& job = jobs_[id];
  job.seen.id = id;
  job.seen.user = options_.user;
  job.seen.wants_devices = true;
  job.node = node;
  ++jobs_begun_;
  run(id, std::move(free));
  return id;
}

std::int64_t SimulatedSlurm::begin_gated(int devices, bool may_requeue) {
  const std::int64_t id = ++ids_;
  Record& job = jobs_[id];
  job.devices_wanted = devices;
  job.seen.id = id;
  job.seen.name = "train";
  job.seen.user = options_.user;
  job.seen.state = "PENDING";
  job.seen.wants_devices = true;
  job.seen.mark = "dovetail-gate";
  slurm::GateSeen& gate = job.seen.gate.emplace();
  gate.is_held = gate.is_batch = true;
  gate.may_requeue = may_requeue;
  gate.submitted_s = now_s();
  gate.handle = std::to_string(id);
  gate.gpus_per_node = devices;
  gate.memory_per_node = kMemory_bytes;
  ++gate_jobs_begun_;
  return id;
}

void SimulatedSlurm::user_cancels(std::int64_t id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.seen.phase == JobPhase::kEnded) return;
  end(id, "CANCELLED", SIGTERM, false);
}

// -- the scheduler -------------------------------------------------------------------------------

std::vector<int> SimulatedSlurm::free_on(const std::string& node) const {
  return free_of(jobs_, node, &slurm::HeldOnNode::devices, options_.gpus_per_node);
}

std::vector<int> SimulatedSlurm::free_cores(const std::string& node) const {
  return free_of(jobs_, node, &slurm::HeldOnNode::cores,
                 options_.cores_per_node / options_.threads_per_core);
}

// As the ledger numbers them.
std::vector<int> SimulatedSlurm::threads_of(const std::vector<int>& cores) const {
  const std::vector<std::int32_t> order =
      thread_order(options_.cores_per_node, options_.threads_per_core);
  std::vector<int> threads;
  for (const int core : cores) {
    const auto first = order.begin() + std::ptrdiff_t{core} * options_.threads_per_core;
    threads.insert(threads.end(), first, first + options_.threads_per_core);
  }
  return threads;
}

std::uint32_t SimulatedSlurm::number_of(const std::string& node) const {
  const auto at = std::find(options_.nodes.begin(), options_.nodes.end(), node);
  return static_cast<std::uint32_t>(at - options_.nodes.begin() + 1);
}

bool SimulatedSlurm::is_up(const std::string& node) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const slurm::NodeSeen& one) {
    return one.name == node && one.state == slurm::NodeSeen::State::kUp;
  });
}

// As long as nobody holds it again.
void SimulatedSlurm::try_start(std::int64_t id) {
  Record& job = jobs_.at(id);
  // Let go without a place it may start anywhere.
  if (job.node.empty()) job.node = nodes_[random_.below(nodes_.size())].name;
  std::vector<int> free = free_on(job.node);
  const bool has_room = static_cast<int>(free.size()) >= job.devices_wanted;
  if (!has_room || free_cores(job.node).empty() || !is_up(job.node)) {
    return in(some(5 * kSecond_us), id, [this, id] { try_start(id); });
  }
  // The prolog: without a place for this very start it waits again.
  const slurm::GateMark mark = slurm::read_mark(job.seen.mark);
  if (mark.job == 0 || mark.restarts != job.seen.gate->restarts) {
    job.node.clear();
    ++job.seen.gate->restarts;
    job.seen.gate->is_held = true;
    return;
  }
  if (!gives_lowest_) std::reverse(free.begin(), free.end());
  free.resize(static_cast<std::size_t>(job.devices_wanted));
  std::sort(free.begin(), free.end());
  TaskFacts& task = job.task.emplace();
  task.node = number_of(job.node);
  task.job = static_cast<std::uint64_t>(mark.job);
  task.attempt = static_cast<std::uint32_t>(mark.attempt);
  task.devices.assign(free.begin(), free.end());
  task.foreign = static_cast<std::uint64_t>(id);
  run(id, std::move(free));
}

void SimulatedSlurm::run(std::int64_t id, std::vector<int> devices) {
  Record& job = jobs_.at(id);
  const int core = free_cores(job.node).front();
  ++job.turn;
  job.seen.phase = JobPhase::kHolding;
  job.seen.state = "RUNNING";
  job.seen.started_s = now_s();
  job.seen.held = {{job.node, {core}, std::move(devices), 0}};
  if (job.task) {
    job.task->cores = threads_of(job.seen.held.front().cores);
    oracle_.task_started(agenda_.now_us(), *job.task);
  } else {
    oracle_.foreign_started(facts_of(job));
  }
  in(some(2 * kHour_us), id, [this, id] {
    const bool fails = one_in(10);
    end(id, fails ? "FAILED" : "COMPLETED", fails ? 3 << 8 : 0, false);
  });
}

// Facts of a task that is nobody's in the ledger.
TaskFacts SimulatedSlurm::facts_of(const Record& job) const {
  TaskFacts facts;
  facts.node = number_of(job.node);
  facts.cores = threads_of(job.seen.held.front().cores);
  facts.devices = job.seen.held.front().devices;
  facts.foreign = static_cast<std::uint64_t>(job.seen.id);
  return facts;
}

void SimulatedSlurm::end(std::int64_t id, const char* state, int wait_status, bool requeues) {
  Record& job = jobs_.at(id);
  if (job.seen.phase == JobPhase::kEnding) return;
  ++job.turn;
  job.seen.state = state;
  const auto over = [this, id, wait_status, requeues] {
    Record& it = jobs_.at(id);
    is_over(it, wait_status);
    ++it.turn;
    if (!requeues) {
      it.seen.phase = JobPhase::kEnded;
      if (it.seen.gate) it.seen.gate->wait_status = wait_status;
      return in(kRecordKept_us, id, [this, id] { jobs_.erase(id); });
    }
    it.seen.phase = JobPhase::kWaiting;
    it.seen.state = "PENDING";
    it.seen.held.clear();
    ++it.seen.gate->restarts;
    it.seen.gate->is_held = true;
  };
  if (job.seen.phase == JobPhase::kWaiting) return over();
  job.seen.phase = JobPhase::kEnding;
  in(some(5 * kSecond_us), id, over);
}

void SimulatedSlurm::is_over(Record& job, int wait_status) {
  if (job.task) {
    TaskExit exit;
    exit.exit_code = (wait_status >> 8) & 0xff;
    exit.signal = wait_status & 0x7f;
    oracle_.task_over(*job.task, exit);
    job.task.reset();
  } else if (!job.seen.held.empty()) {
    oracle_.foreign_over(facts_of(job));
  }
}

// Unless the job has started, ended or gone since.
void SimulatedSlurm::in(std::int64_t delay_us, std::int64_t id, std::function<void()> then) {
  agenda_.in(delay_us, [this, id, turn = jobs_.at(id).turn, then = std::move(then)] {
    const auto found = jobs_.find(id);
    if (found != jobs_.end() && found->second.turn == turn) then();
  });
}

// -- commands ------------------------------------------------------------------------------------

Result<void> SimulatedSlurm::reached() {
  if (has_faults() && one_in(kDies)) caller_is_dead_ = true;
  if (caller_is_dead_ || agenda_.now_us() < mute_until_us_) return silence();
  if (has_faults() && one_in(kLost)) return silence();
  return {};
}

// It was obeyed; whoever asked may not hear of it.
Result<void> SimulatedSlurm::answered() {
  if (has_faults() && one_in(kDies)) caller_is_dead_ = true;
  if (caller_is_dead_ || (has_faults() && one_in(kLost))) return silence();
  return {};
}

SimulatedSlurm::Record* SimulatedSlurm::find(const std::string& handle) {
  const auto found = jobs_.find(std::stoll(handle));
  return found == jobs_.end() ? nullptr : &found->second;
}

Result<slurm::Observed> SimulatedSlurm::observe() {
  TRY(reached());
  slurm::Observed seen;
  seen.nodes = nodes_;
  for (const auto& [id, job] : jobs_) {
    // squeue does not show what of other partitions has ended.
    if (job.seen.phase != JobPhase::kEnded || job.seen.gate) seen.jobs.push_back(job.seen);
  }
  TRY(answered());
  return seen;
}

Result<std::vector<JobSeen>> SimulatedSlurm::observe_jobs(const std::vector<slurm::NodeSeen>&) {
  TRY_ASSIGN(slurm::Observed seen, observe());
  return std::move(seen.jobs);
}

Result<std::int64_t> SimulatedSlurm::ask(const slurm::Ask& ask) {
  TRY(reached());
  const std::vector<int> wanted = devices_of(ask.gres);
  const std::vector<int> free = free_on(ask.node);
  std::vector<int> cores = free_cores(ask.node);
  if (!gives_lowest_) std::reverse(cores.begin(), cores.end());
  const int wanted_cores = (ask.cpus + options_.threads_per_core - 1) /
                           options_.threads_per_core;  // it gives whole ones
  const bool has_cores = static_cast<int>(cores.size()) >= wanted_cores;
  const bool has_room =
      has_cores && is_up(ask.node) && std::all_of(wanted.begin(), wanted.end(), [&](int one) {
        return std::count(free.begin(), free.end(), one) > 0;
      });
  if (!has_room) return Error{ErrorKind::kConflict, "no_room", "Slurm has no room", ""};
  cores.resize(static_cast<std::size_t>(wanted_cores));
  const std::int64_t id = ++ids_;
  Record& job = jobs_[id];
  job.node = ask.node;
  job.seen.id = id;
  job.seen.name = ask.name;
  job.seen.user = kOurs;
  job.seen.wants_devices = true;
  job.seen.phase = JobPhase::kHolding;
  job.seen.state = "RUNNING";
  job.seen.started_s = now_s();
  job.seen.held = {{ask.node, std::move(cores), wanted, 0}};
  ++given_;
  if (ask.name.starts_with(slurm::kFence_name) && ask.limit_minutes > 0) {
    in(ask.limit_minutes * 60 * kSecond_us, id, [this, id] { jobs_.erase(id); });
  }
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

std::string SimulatedSlurm::held_for_us() const {
  for (const auto& [id, record] : jobs_) {
    const bool is_to_stay = slurm::is_standing_fence(record.seen, kCluster);
    if (record.seen.user == kOurs && !is_to_stay) return record.seen.name;
  }
  return "";
}

std::string SimulatedSlurm::not_held_for(const TaskFacts& task) const {
  if (task.node == 0 || task.node > options_.nodes.size()) return "";
  const std::string& node = options_.nodes[task.node - 1];
  const std::string name = slurm::placeholder_name(
      static_cast<std::int64_t>(task.job), static_cast<std::int64_t>(task.attempt), kCluster);
  std::set<std::int32_t> cores;
  std::set<std::int32_t> devices;
  for (const auto& [id, job] : jobs_) {
    if (job.seen.phase != JobPhase::kHolding || job.seen.held.front().node != node) continue;
    const slurm::HeldOnNode& held = job.seen.held.front();
    const bool is_its = job.seen.name == name;
    if (is_its) {
      const std::vector<int> threads = threads_of(held.cores);
      cores.insert(threads.begin(), threads.end());
    }
    if (is_its || slurm::is_standing_fence(job.seen, kCluster)) {
      devices.insert(held.devices.begin(), held.devices.end());
    }
  }
  for (const std::int32_t core : task.cores) {
    if (!cores.contains(core)) return fmt::format("core {}", core);
  }
  for (const std::int32_t device : task.devices) {
    if (!devices.contains(device)) return fmt::format("device {}", device);
  }
  return "";
}

Result<void> SimulatedSlurm::release(std::int64_t job) {
  TRY(reached());
  jobs_.erase(job);
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

Result<void> SimulatedSlurm::mark(std::int64_t job, const std::string& text) {
  return mark(std::to_string(job), text);
}

Result<void> SimulatedSlurm::mark(const std::string& handle, const std::string& text) {
  TRY(reached());
  if (Record* job = find(handle)) job->seen.mark = text;
  return answered();
}

Result<void> SimulatedSlurm::set_drain(const std::string& node, const std::string& reason) {
  TRY(reached());
  for (slurm::NodeSeen& one : nodes_) {
    if (one.name != node) continue;
    one.state = reason.empty() ? slurm::NodeSeen::State::kUp : slurm::NodeSeen::State::kDrained;
    one.reason = reason;
  }
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
  job->seen.gate->is_held = false;
  ++job->turn;
  const std::int64_t id = job->seen.id;
  in(some(2 * kSecond_us), id, [this, id] { try_start(id); });
  return answered();
}

Result<void> SimulatedSlurm::put_back(const std::string& handle, const slurm::GatePutBack& one) {
  TRY(reached());
  Record* job = find(handle);
  if (job == nullptr || job->seen.phase == JobPhase::kEnded) {
    return Error{ErrorKind::kConflict, "slurm_command", "Invalid job id", ""};
  }
  const bool waits = job->seen.phase == JobPhase::kWaiting;
  if (one.waits) {
    job->seen.mark = one.mark;  // also of one that has begun since
    if (waits) {
      job->seen.gate->is_held = true;
      ++job->turn;
    }
  } else if (one.may_requeue && waits) {
    job->seen.gate->is_held = true;
    ++job->turn;
  } else {
    end(job->seen.id, one.may_requeue ? "REQUEUED" : "CANCELLED", SIGTERM, one.may_requeue);
  }
  return answered();
}

}  // namespace dove::sim
