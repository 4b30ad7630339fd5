#include "sim/explore/slurm/simulated_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "slurm/fences/standing_fences.h"
#include "slurm/gate/mark.h"
#include "slurm/plan.h"

namespace dove::sim {
namespace {

using slurm::JobPhase;
using slurm::JobSeen;

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
// How long a record of a job that has ended stays (MinJobAge).
constexpr std::int64_t kRecordKept_us = 300 * kSecond_us;
constexpr std::int64_t kSlurmdTimeout_us = 300 * kSecond_us;
constexpr std::int64_t kRequeueDelay_us = 120 * kSecond_us;
// It looks for jobs over their limits twice a minute, and kills them kKillWait_us later (KillWait).
constexpr std::int64_t kLimitLook_us = 30 * kSecond_us;
constexpr std::int64_t kKillWait_us = 30 * kSecond_us;
constexpr std::int64_t kMiB = 1 << 20;

bool uses_devices(const JobSeen& job) {
  return job.phase == JobPhase::kHolding || job.phase == JobPhase::kEnding;
}

// The first `count` of a node's, without those that a job has.
template <class Records>
std::vector<int> free_of(const Records& jobs, const std::string& node,
                         std::vector<int> slurm::NodeAllocation::*part, std::int32_t count) {
  std::vector<bool> taken(static_cast<std::size_t>(count));
  for (const auto& [id, job] : jobs) {
    if (!uses_devices(job.seen) || job.seen.allocations.front().node != node) continue;
    if (part == &slurm::NodeAllocation::cores && job.seen.is_suspended()) continue;
    for (const int one : job.seen.allocations.front().*part)
      taken[static_cast<std::size_t>(one)] = true;
  }
  std::vector<int> free;
  for (int i = 0; i < count; ++i) {
    if (!taken[static_cast<std::size_t>(i)]) free.push_back(i);
  }
  return free;
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
    slurm::NodeSeen& node = nodes_.emplace_back().seen;
    node.name = name;
    node.cores_per_socket = options_.cores_per_node / options_.threads_per_core;
    node.cpus_per_core = options_.threads_per_core;
    node.memory_bytes = options_.memory_bytes;
    node.partitions = {kOpen_partition};
    for (int i = 0; i < options_.gpus_per_node; ++i) {
      node.device_types.push_back(fmt::format("g_{}", i));
    }
  }
  lua_marks_ = !random_.one_in(4);
  gives_lowest_ = !random_.one_in(4);
}

void SimulatedSlurm::start() {
  if (nodes_.empty()) return;
  next_job();
  if (options_.faults_percent > 0)
    agenda_.in(random_.around(12 * kHour_us), [this] { fall_mute(); });
}

void SimulatedSlurm::stop() {
  stopped_ = true;
  for (const auto& [id, job] : jobs_) user_releases(id);
  for (const std::string& node : options_.nodes) {
    comes_back(node);
    if (node_named(node).theirs_us != 0) administrator_opens(node);
  }
}

void SimulatedSlurm::fall_mute() {
  if (stopped_) return;
  mute_until_us_ = agenda_.now_us() + random_.around(600 * kSecond_us);
  agenda_.in(random_.around(12 * kHour_us), [this] { fall_mute(); });
}

// -- its users -----------------------------------------------------------------------------------

// A job every few minutes, so that most of our launches meet one.
void SimulatedSlurm::next_job() {
  if (stopped_) return;
  const int devices = 1 + static_cast<int>(random_.below(3));
  if (!options_.modes.gate) {
    user_acts(submit_open(devices, random_.one_in(2)));
  } else if (random_.one_in(2)) {
    user_acts(begin_open(devices));
  } else if (random_.one_in(5)) {
    user_acts(begin_array(1 + static_cast<int>(random_.below(4)),
                          static_cast<int>(random_.below(3)), devices));
  } else {
    user_acts(begin_gated(devices, !random_.one_in(4)));
  }
  agenda_.in(random_.around(kHour_us / 4), [this] { next_job(); });
}

// They change their minds.
void SimulatedSlurm::user_acts(std::int64_t id) {
  if (random_.one_in(6)) agenda_.in(random_.around(kHour_us), [this, id] { user_cancels(id); });
  if (random_.one_in(6)) agenda_.in(random_.around(kHour_us / 12), [this, id] { user_holds(id); });
  if (random_.one_in(6)) agenda_.in(random_.around(kHour_us), [this, id] { user_requeues(id); });
}

// What both kinds have.
SimulatedSlurm::Record& SimulatedSlurm::new_job(int devices, bool may_requeue) {
  const std::int64_t id = ++ids_;
  Record& job = jobs_[id];
  job.devices_wanted = devices;
  job.may_requeue = may_requeue;
  // Up to a half of a node; a few bring it to its limit.
  job.memory_bytes = has_faults() ? kMiB << random_.below(20) : kMiB;
  job.limit_minutes = has_faults() && !random_.one_in(3) ? random_.around(150) : 0;
  job.seen.id = id;
  job.seen.user = options_.user;
  job.seen.state = "PENDING";
  job.seen.wants_devices = true;
  return job;
}

std::int64_t SimulatedSlurm::begin_open(int devices) {
  Record& job = new_job(devices, !random_.one_in(3));
  const std::int64_t id = job.seen.id;
  job.node = any_node();
  job.seen.account = kOpen_account;
  job.seen.partition = kOpen_partition;
  job.seen.handle = std::to_string(id);
  job.seen.may_requeue = job.may_requeue;
  if (try_open(id)) return id;
  jobs_.erase(id);
  return 0;
}

bool SimulatedSlurm::try_open(std::int64_t id) {
  std::vector<int> devices = room_for(jobs_.at(id));
  if (devices.empty()) return false;
  ++jobs_begun_;
  run(id, std::move(devices));
  return true;
}

std::int64_t SimulatedSlurm::begin_gated(int devices, bool may_requeue) {
  Record& job = new_job(devices, may_requeue);
  job.seen.name = "train";
  job.seen.mark = "dovetail-gate";
  slurm::GateSeen& gate = job.seen.gate.emplace();
  gate.is_held = gate.is_batch = true;
  gate.may_requeue = may_requeue;
  gate.limit_minutes = job.limit_minutes;
  gate.submitted_s = now_s();
  gate.handle = std::to_string(job.seen.id);
  gate.gpus_per_node = devices;
  gate.memory_per_node = job.memory_bytes;
  ++gate_jobs_begun_;
  return job.seen.id;
}

// -- its nodes -----------------------------------------------------------------------------------

std::vector<int> SimulatedSlurm::free_on(const std::string& node) const {
  return free_of(jobs_, node, &slurm::NodeAllocation::devices, options_.gpus_per_node);
}

std::vector<int> SimulatedSlurm::free_cores(const std::string& node) const {
  return free_of(jobs_, node, &slurm::NodeAllocation::cores,
                 options_.cores_per_node / options_.threads_per_core);
}

std::int64_t SimulatedSlurm::free_memory(const std::string& node) const {
  std::int64_t free = options_.memory_bytes;
  for (const auto& [id, job] : jobs_) {
    if (!uses_devices(job.seen) || job.seen.allocations.front().node != node) continue;
    free -= job.seen.allocations.front().memory_bytes;
  }
  return free;
}

bool SimulatedSlurm::has_room(const std::string& node, std::int32_t device) const {
  const std::vector<int> free = free_on(node);
  return is_up(node) && std::count(free.begin(), free.end(), device) > 0 &&
         2 * static_cast<std::int32_t>(free_cores(node).size()) * options_.threads_per_core >
             options_.cores_per_node &&
         2 * free_memory(node) > options_.memory_bytes;
}

std::vector<int> SimulatedSlurm::room_for(const Record& job) const {
  std::vector<int> free = free_on(job.node);
  const bool has_room = is_up(job.node) && !free_cores(job.node).empty() &&
                        free_memory(job.node) >= job.memory_bytes &&
                        static_cast<int>(free.size()) >= job.devices_wanted;
  if (!has_room) return {};
  // Those of an open partition get the lowest.
  if (!gives_lowest_ && job.seen.gate) std::reverse(free.begin(), free.end());
  free.resize(static_cast<std::size_t>(job.devices_wanted));
  std::sort(free.begin(), free.end());
  return free;
}

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

SimulatedSlurm::Node& SimulatedSlurm::node_named(const std::string& name) {
  return nodes_.at(number_of(name) - 1);
}

const std::string& SimulatedSlurm::any_node() {
  return options_.nodes[random_.below(options_.nodes.size())];
}

bool SimulatedSlurm::is_up(const std::string& node) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& one) {
    return one.seen.name == node && one.drained.empty() && !one.is_silent && !one.is_down;
  });
}

std::vector<slurm::NodeSeen> SimulatedSlurm::nodes_seen() const {
  std::vector<slurm::NodeSeen> seen;
  for (const Node& node : nodes_) {
    slurm::NodeSeen& one = seen.emplace_back(node.seen);
    if (node.is_down || node.is_silent) {
      one.state = slurm::NodeSeen::State::kDown;
      one.settles = !node.is_down;
      one.reason = "Not responding";
    } else if (!node.drained.empty()) {
      one.state = slurm::NodeSeen::State::kDrained;
      one.reason = node.drained;
    }
  }
  return seen;
}

void SimulatedSlurm::falls_silent(const std::string& name) {
  Node& node = node_named(name);
  if (stopped_ || node.is_silent || node.is_down) return;
  node.is_silent = true;
  agenda_.in(kSlurmdTimeout_us, [this, &node, silence = ++node.silences] {
    if (node.is_silent && node.silences == silence) is_down(node);
  });
}

void SimulatedSlurm::comes_back(const std::string& name) {
  Node& node = node_named(name);
  node.is_silent = node.is_down = false;
}

void SimulatedSlurm::is_down(Node& node) {
  node.is_silent = false;
  node.is_down = true;
  std::vector<std::int64_t> there;
  for (const auto& [id, job] : jobs_) {
    if (uses_devices(job.seen) && job.node == node.seen.name) there.push_back(id);
  }
  for (const std::int64_t id : there) is_lost(id);
}

// What ran there is over with it. Allocations without a batch script are not put back.
void SimulatedSlurm::is_lost(std::int64_t id) {
  Record& job = jobs_.at(id);
  ++jobs_lost_;
  if (is_ours(job)) return take_away(id, "its node failed", /*at_once=*/true);
  ++job.turn;
  is_over(job, SIGKILL);
  if (!job.may_requeue) return is_at_end(job, "NODE_FAIL", SIGKILL);
  waits_again(job);
  starts_again(id);
}

void SimulatedSlurm::starts_again(std::int64_t id) {
  const std::int64_t pause_us = kRequeueDelay_us + random_.around(5 * kSecond_us);
  Record& job = jobs_.at(id);
  if (!job.is_queued) return in(pause_us, id, [this, id] { try_start(id); });
  job.not_before_us = agenda_.now_us() + pause_us;
  waits_for(job, "BeginTime");
  look_at_queue_soon();
}

// -- the scheduler -------------------------------------------------------------------------------

// As long as nobody holds it again.
void SimulatedSlurm::try_start(std::int64_t id) {
  Record& job = jobs_.at(id);
  // Let go without a place it may start anywhere.
  if (job.node.empty() || !job.seen.gate) job.node = any_node();
  std::vector<int> devices = room_for(job);
  if (devices.empty()) return in(random_.around(5 * kSecond_us), id, [this, id] { try_start(id); });
  if (!job.seen.gate) return run(id, std::move(devices));
  // The prolog: without a place for this very start it waits again.
  const slurm::GateMark mark = slurm::read_mark(job.seen.mark);
  if (mark.job == 0 || mark.restarts != job.seen.gate->restarts) {
    job.node.clear();
    ++job.seen.gate->restarts;
    job.seen.gate->is_held = true;
    return;
  }
  TaskFacts& task = job.task.emplace();
  task.node = number_of(job.node);
  task.job = static_cast<std::uint64_t>(mark.job);
  task.attempt = static_cast<std::uint32_t>(mark.attempt);
  task.devices.assign(devices.begin(), devices.end());
  task.memory_bytes = job.memory_bytes;
  task.foreign = static_cast<std::uint64_t>(id);
  run(id, std::move(devices));
}

void SimulatedSlurm::run(std::int64_t id, std::vector<int> devices) {
  Record& job = jobs_.at(id);
  const int core = free_cores(job.node).front();
  begin_holding(job, {job.node, {core}, std::move(devices), job.memory_bytes});
  if (job.task) {
    job.task->cores = threads_of(job.seen.allocations.front().cores);
    oracle_.task_started(agenda_.now_us(), *job.task);
  } else {
    oracle_.foreign_started(facts_of(job));
  }
  in(random_.around(2 * kHour_us), id, [this, id] {
    const bool fails = random_.one_in(10);
    end(id, fails ? "FAILED" : "COMPLETED", fails ? 3 << 8 : 0, Requeue::kNo);
  });
}

void SimulatedSlurm::begin_holding(Record& job, slurm::NodeAllocation held) {
  ++job.turn;
  job.seen.phase = JobPhase::kHolding;
  job.seen.state = "RUNNING";
  job.seen.started_s = now_s();
  job.seen.reason.clear();
  job.seen.asks.reset();
  job.seen.allocations = {std::move(held)};
  set_end(job, job.limit_minutes);
}

// Facts of a task that is nobody's in the ledger.
TaskFacts SimulatedSlurm::facts_of(const Record& job) const {
  TaskFacts facts;
  facts.node = number_of(job.node);
  facts.cores = threads_of(job.seen.allocations.front().cores);
  facts.devices = job.seen.allocations.front().devices;
  facts.memory_bytes = job.memory_bytes;
  facts.foreign = static_cast<std::uint64_t>(job.seen.id);
  return facts;
}

void SimulatedSlurm::set_end(Record& job, std::int64_t limit_minutes) {
  job.limit_minutes = limit_minutes;
  ++job.limits;
  job.seen.ends_s = limit_minutes == 0 ? 0 : job.seen.started_s + 60 * limit_minutes;
  if (limit_minutes == 0) return;
  const std::int64_t left_us = std::max<std::int64_t>(job.seen.ends_s - now_s(), 0) * kSecond_us;
  in(left_us + random_.around(kLimitLook_us / 2), job.seen.id,
     [this, id = job.seen.id, limits = job.limits] {
       const Record& it = jobs_.at(id);
       if (it.limits == limits && it.seen.phase == JobPhase::kHolding) meet_limit(id);
     });
}

void SimulatedSlurm::meet_limit(std::int64_t id) {
  const Record& job = jobs_.at(id);
  if (!is_ours(job)) {
    ++limits_met_;
    return end(id, "TIMEOUT", SIGTERM, Requeue::kNo);
  }
  // A fence of the gate is for a moment.
  if (on_limit_ && !job.seen.name.starts_with(slurm::kFence_name)) on_limit_(job.seen);
  take_away(id, "it met its time limit");
}

void SimulatedSlurm::end(std::int64_t id, const char* state, int wait_status, Requeue requeue) {
  Record& job = jobs_.at(id);
  if (job.seen.phase == JobPhase::kEnding) return;
  ++job.turn;
  job.seen.state = state;
  const auto over = [this, id, wait_status, requeue, state] {
    Record& it = jobs_.at(id);
    // Slurm may give its core to others before the ledger has heard of it.
    const bool is_news = requeue == Requeue::kStarts && it.task;
    if (is_news) oracle_.hold_lost(it.task->node, it.task->job);
    is_over(it, wait_status);
    ++it.turn;
    if (requeue == Requeue::kNo) return is_at_end(it, state, wait_status);
    waits_again(it);
    if (!it.seen.gate || requeue == Requeue::kStarts) return starts_again(id);
    it.seen.gate->is_held = true;
  };
  if (job.seen.phase == JobPhase::kWaiting) return over();
  job.seen.phase = JobPhase::kEnding;
  // A few processes do not end before they are killed.
  in(random_.one_in(8) ? kKillWait_us : random_.around(5 * kSecond_us), id, over);
}

void SimulatedSlurm::is_at_end(Record& job, const char* state, int wait_status) {
  job.seen.phase = JobPhase::kEnded;
  job.seen.state = state;
  if (job.seen.gate) job.seen.gate->wait_status = wait_status;
  const std::int64_t id = job.seen.id;
  in(kRecordKept_us, id, [this, id] { jobs_.erase(id); });
}

// As scontrol requeue does it: the priority stays, and the place is of the start before.
void SimulatedSlurm::waits_again(Record& job) {
  job.seen.phase = JobPhase::kWaiting;
  job.seen.state = "PENDING";
  job.seen.allocations.clear();
  job.seen.ends_s = 0;
  ++job.seen.restarts;
  job.submitted_s = now_s();
  if (!job.seen.gate) return;
  ++job.seen.gate->restarts;
  job.seen.gate->submitted_s = now_s();
}

void SimulatedSlurm::is_over(Record& job, int wait_status) {
  if (job.task) {
    TaskExit exit;
    exit.exit_code = (wait_status >> 8) & 0xff;
    exit.signal = wait_status & 0x7f;
    oracle_.task_over(*job.task, exit);
    job.task.reset();
  } else if (!job.seen.allocations.empty()) {
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

}  // namespace dove::sim
