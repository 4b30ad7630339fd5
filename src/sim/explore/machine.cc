#include "sim/explore/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace dove::sim {
namespace {

std::int64_t number_of(const agent::TaskPlan& plan, const char* name) {
  const auto found = plan.environment.find(name);
  std::int64_t value = 0;
  if (found == plan.environment.end()) return value;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

std::vector<std::int32_t> list_of(const agent::TaskPlan& plan, const char* name) {
  std::vector<std::int32_t> ids;
  const auto found = plan.environment.find(name);
  if (found == plan.environment.end()) return ids;
  const char* at = found->second.data();
  const char* const end = at + found->second.size();
  while (at < end) {
    std::int32_t id = 0;
    const auto read = std::from_chars(at, end, id);
    if (read.ec != std::errc()) break;
    ids.push_back(id);
    at = read.ptr + 1;
  }
  return ids;
}

}  // namespace

// The agent's runner. Tasks belong to the machine and outlive it.
class MachineRunner : public agent::Runner {
 public:
  MachineRunner(Machine& machine, Process& process) : machine_(machine), process_(process) {}

  Result<std::unique_ptr<agent::RunningTask>> start(const agent::TaskPlan& plan,
                                                    agent::TaskCallbacks calls) override {
    machine_.maybe_die();
    std::ofstream(plan.path) << "";  // says that it may have been started
    machine_.maybe_die();
    auto handle = make(plan, std::move(calls));
    machine_.spawn(plan, handle->watch);
    machine_.maybe_die();
    return std::unique_ptr<agent::RunningTask>(std::move(handle));
  }
  Result<std::unique_ptr<agent::RunningTask>> adopt(const agent::TaskPlan& plan,
                                                    agent::TaskCallbacks calls) override {
    auto handle = make(plan, std::move(calls));
    machine_.adopt(plan, handle->watch);
    return std::unique_ptr<agent::RunningTask>(std::move(handle));
  }

 private:
  struct Handle : agent::RunningTask {
    Handle(Machine& of, std::string at, std::shared_ptr<Machine::Watch> with)
        : machine(of), path(std::move(at)), watch(std::move(with)) {}
    ~Handle() override { watch->dropped = true; }
    void stop() override { machine.stop_task(path, SIGTERM); }
    void signal(int number) override { machine.stop_task(path, number); }
    void end_input() override {}
    Machine& machine;
    std::string path;
    std::shared_ptr<Machine::Watch> watch;
  };
  std::unique_ptr<Handle> make(const agent::TaskPlan& plan, agent::TaskCallbacks calls) {
    auto watch = std::make_shared<Machine::Watch>();
    watch->calls = std::move(calls);
    watch->process = &process_;
    return std::make_unique<Handle>(machine_, plan.path, std::move(watch));
  }

  Machine& machine_;
  Process& process_;
};

struct Machine::Life {
  Life(Machine& machine, agent::AgentOptions options, const Inventory& inventory)
      : process(machine.network_, machine.host_),
        loop(process),
        runner(machine, process),
        agent(loop, std::move(options), inventory, runner) {}

  Process process;
  wire::Loop loop;
  MachineRunner runner;
  agent::Agent agent;
};

Machine::Machine(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace,
                 MachineOptions options, std::uint64_t seed)
    : agenda_(agenda),
      network_(network),
      oracle_(oracle),
      trace_(trace),
      options_(std::move(options)),
      random_(seed) {
  host_.name = options_.name;
  std::filesystem::create_directories(options_.data_dir);
  std::ofstream(options_.data_dir + "/agent_token") << options_.agent_token;
}

Machine::~Machine() = default;

std::string Machine::boot_id() const { return fmt::format("{}-boot-{}", options_.boots_as, boot_); }

void Machine::start_agent() {
  if (agent_ != nullptr || !host_.powered) return;
  agent::AgentOptions options;
  options.name = options_.name;
  options.boot_id = boot_id();
  options.machine_id = options_.machine_id;
  options.data_dir = options_.data_dir;
  options.host = options_.controllers.front();
  options.port = 1;
  for (std::size_t i = 1; i < options_.controllers.size(); ++i) {
    options.other_controllers.push_back({false, options_.controllers[i], 1, ""});
  }
  options.join_token = join_token_;
  options.join_refused = [](const Error&) {};  // it waits to be started with another token
  options.mapped_users = false;
  options.progress_every = {};  // tasks are none, and say nothing
  options.stream_silence_us = options_.stream_silence_us;
  options.progress_every = std::chrono::milliseconds(0);
  options.finished.age_max_s = -24 * 3600;  // gone at the next look, whatever the real time
  options.finished.look_every_s = 24 * 3600;
  options.finished.free_least = 0;  // nor the room on the real disk
  options.renew_lease = [this](std::int64_t until_us) {
    lease_until_us_ = until_us;
    watch_lease();
  };
  trace_.add(agenda_.now_us(), options_.name + ": agent starts");
  killed_soon_ = false;
  agent_ = std::make_unique<Life>(*this, std::move(options), options_.inventory);
  const Result<void> started = agent_->agent.start();
  if (!started.ok()) oracle_.fail("agent of " + options_.name + ": " + started.error().message);
}

void Machine::kill_agent() {
  if (agent_ == nullptr) return;
  trace_.add(agenda_.now_us(), options_.name + ": agent killed");
  killed_soon_ = false;
  agent_.reset();
}

void Machine::maybe_die() {
  if (!killed_soon_ || random_.below(3) != 0) return;
  throw AgentKilled{this};
}

void Machine::power_off() {
  if (!host_.powered) return;
  trace_.add(agenda_.now_us(), options_.name + ": power lost");
  network_.power_off(host_);
  agent_.reset();
  for (const std::string& path : live_) {
    oracle_.task_over(tasks_.at(path).second.facts, TaskExit{0, 0, SIGKILL, "power"});
  }
  live_.clear();
  tasks_.clear();
  lease_until_us_ = 0;
}

void Machine::power_on() {
  if (host_.powered) return;
  ++boot_;
  trace_.add(agenda_.now_us(), options_.name + ": boots");
  network_.power_on(host_);
  start_agent();
}

void Machine::wipe() {
  trace_.add(agenda_.now_us(), options_.name + ": gets a new disk");
  for (const auto& entry : std::filesystem::directory_iterator(options_.data_dir)) {
    std::filesystem::remove_all(entry.path());
  }
}

bool Machine::has_joined() const {
  return std::filesystem::exists(options_.data_dir + "/agent_token");
}

void Machine::fail_device(std::int32_t device) {
  trace_.add(agenda_.now_us(), fmt::format("{}: device {} fails", options_.name, device));
  std::vector<std::string> hit;
  for (const std::string& path : live_) {
    const auto& devices = tasks_.at(path).second.facts.devices;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      hit.push_back(path);
    }
  }
  for (const std::string& path : hit) {
    end_task(path, tasks_.at(path).first, TaskExit{0, 1, 0, ""});
  }
}

// -- tasks ---------------------------------------------------------------------------------------

void Machine::spawn(const agent::TaskPlan& plan, std::shared_ptr<Watch> watch) {
  Task task;
  task.path = plan.path;
  task.facts.node = options_.node;
  task.facts.job = static_cast<std::uint64_t>(number_of(plan, "DOVE_JOB_ID"));
  task.facts.attempt = static_cast<std::uint32_t>(number_of(plan, "DOVE_ATTEMPT"));
  task.facts.rank = plan.rank;
  task.facts.cores = plan.cores;
  task.facts.devices = list_of(plan, "DOVE_DEVICES");
  const auto share_milli = number_of(plan, "DOVE_DEVICE_SHARE_MILLI");
  if (share_milli > 0) task.facts.share_milli = static_cast<std::int32_t>(share_milli);
  task.watch = watch;
  oracle_.task_started(agenda_.now_us(), task.facts);
  TaskExit exit{plan.rank, 0, 0, ""};
  std::int64_t run_us = number_of(plan, "EXPLORE_RUN_US");
  const auto fails = static_cast<std::uint64_t>(number_of(plan, "EXPLORE_FAILS_PERCENT"));
  if (plan.rank == 0 && random_.below(100) < fails) {
    exit.exit_code = 1;
    run_us /= 2;
  }
  const std::uint64_t life = ++tasks_begun_;
  tasks_[plan.path] = {life, std::move(task)};
  live_.insert(plan.path);
  const auto start_us = static_cast<std::int64_t>(random_.below(500'000));
  watch->process->after(std::chrono::microseconds(start_us), [watch] {
    if (!watch->dropped && watch->calls.on_started) watch->calls.on_started();
  });
  agenda_.in(start_us + run_us,
             [this, path = plan.path, life, exit] { end_task(path, life, exit); });
  watch_lease();
}

// The records of a former boot's running tasks died with it.
void Machine::adopt(const agent::TaskPlan& plan, const std::shared_ptr<Watch>& watch) {
  const auto found = tasks_.find(plan.path);
  if (found == tasks_.end()) {
    Task unknown;
    unknown.exit = TaskExit{plan.rank, 0, SIGKILL, "shim_lost"};
    unknown.watch = watch;
    return tell_ended(unknown);
  }
  Task& task = found->second.second;
  task.watch = watch;
  if (task.over) tell_ended(task);
}

void Machine::tell_ended(const Task& task) {
  const std::shared_ptr<Watch> watch = task.watch;
  if (watch == nullptr || watch->dropped) return;
  watch->process->after(std::chrono::microseconds(0), [watch, exit = task.exit] {
    if (watch->dropped) return;
    agent::TaskEnd end;
    end.exit = exit;
    end.cpu_us = 1000;
    watch->calls.on_ended(end);
  });
}

void Machine::stop_task(const std::string& path, int number) {
  const auto found = tasks_.find(path);
  if (found == tasks_.end() || found->second.second.over || found->second.second.stopping) return;
  found->second.second.stopping = true;
  const std::uint64_t life = found->second.first;
  const auto wait_us = static_cast<std::int64_t>(random_.below(20) == 0 ? random_.below(30'000'000)
                                                                        : random_.below(2'000'000));
  const TaskExit exit{found->second.second.facts.rank, 0, number, ""};
  agenda_.in(wait_us, [this, path, life, exit] { end_task(path, life, exit); });
}

void Machine::end_task(const std::string& path, std::uint64_t life, const TaskExit& exit) {
  const auto found = tasks_.find(path);
  if (found == tasks_.end() || found->second.first != life || found->second.second.over) return;
  Task& task = found->second.second;
  task.over = true;
  live_.erase(path);
  task.exit = exit;
  task.exit.rank = task.facts.rank;
  oracle_.task_over(task.facts, task.exit);
  tell_ended(task);
  // What the shim left is read by an agent that adopts it; later nobody asks.
  agenda_.in(std::int64_t{7} * 86'400'000'000, [this, path, life] {
    const auto old = tasks_.find(path);
    if (old != tasks_.end() && old->second.first == life) tasks_.erase(old);
  });
}

// Shims have their tasks dead by the lease's deadline.
void Machine::watch_lease() {
  if (lease_watched_ || live_.empty()) return;
  lease_watched_ = true;
  agenda_.at(lease_until_us_, [this] {
    lease_watched_ = false;
    if (live_.empty()) return;
    if (agenda_.now_us() < lease_until_us_) return watch_lease();
    trace_.add(agenda_.now_us(), options_.name + ": lease over, tasks end");
    const std::set<std::string> live = live_;
    for (const std::string& path : live) {
      end_task(path, tasks_.at(path).first, TaskExit{0, 0, SIGKILL, "fenced"});
    }
  });
}

}  // namespace dove::sim
