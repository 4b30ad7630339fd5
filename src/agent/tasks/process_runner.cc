#include "agent/tasks/process_runner.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "agent/aside/linux_user.h"
#include "agent/secrets/task_secrets.h"
#include "agent/tasks/process_sweep.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

// A mark as the name of a directory.
CgroupName cgroup_name(const TaskPlan& plan) {
  CgroupName name{plan.attempt, plan.mark, plan.attempt.empty() ? "" : plan.step};
  for (std::string* part : {&name.attempt, &name.step, &name.task}) {
    std::replace(part->begin(), part->end(), '/', '_');
  }
  return name;
}

// What a task may be allowed to pin; -1: without limit, where this process may grant that.
std::int64_t pinned_memory_max() {
  rlimit own{};
  getrlimit(RLIMIT_MEMLOCK, &own);
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (own.rlim_max == RLIM_INFINITY || setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) {
    setrlimit(RLIMIT_MEMLOCK, &own);
    return -1;
  }
  return static_cast<std::int64_t>(own.rlim_max);
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{} MiB", (bytes + (1 << 19)) >> 20);
}

}  // namespace

struct ProcessRunner::Watched {
  Watched(const TaskPlan& plan, TaskCallbacks given)
      : path(plan.path),
        mark(plan.mark),
        group(cgroup_name(plan)),
        rank(plan.rank),
        callbacks(std::move(given)) {}

  ShimHandle handle;
  const std::string path;
  const std::string mark;
  const CgroupName group;
  const Rank rank;
  TaskCallbacks callbacks;
  bool started = false;
  bool over = false;  // its end is being told
  bool left = false;  // its cgroup
  bool wanted_stop = false;
  int looks = 0;  // that found something left
  TaskEnd end;    // to be told once nothing is left
  wire::FdWatch exit;
  wire::Timer timer;
};

// The holder's end of a watched shim; the shim is watched on after it is gone.
class ProcessRunner::Task : public RunningTask {
 public:
  explicit Task(std::shared_ptr<Watched> watched) : watched_(std::move(watched)) {}
  ~Task() override { watched_->callbacks = {}; }
  void stop() override {
    watched_->wanted_stop = true;
    watched_->handle.stop();
  }
  void signal(int number) override { watched_->handle.signal(number); }
  void end_input() override { watched_->handle.end_input(); }

 private:
  std::shared_ptr<Watched> watched_;
};

namespace {

constexpr int kLooksUntilSaid = 12;
constexpr int kLookAgainMax_ms = 2'000;

Error not_its_file(const std::string& path) {
  return {ErrorKind::kCorrupt, "not_its_file",
          path + " is another task's; what runs of this one is ended, and its end is unknown",
          path};
}

TaskEnd shim_lost(Rank rank) {
  TaskEnd end;
  end.exit.rank = rank;
  end.exit.signal = 9;
  end.exit.cause = "shim_lost";
  return end;
}

}  // namespace

TaskEnd ProcessRunner::end_of(const Watched& watched, const ShimStatus& status) const {
  TaskEnd end;
  end.exit.rank = watched.rank;
  end.exit.exit_code = status.record.exit_code;
  end.exit.signal = status.record.exit_signal;
  end.cpu_us = status.record.cpu_user_us + status.record.cpu_system_us;
  end.memory_peak_bytes = status.record.max_rss_bytes;
  std::int64_t limit_bytes = 0;
  if (cgroups_) {
    const Cgroup group = cgroups_->find(watched.group);
    // The largest process's alone, where nobody counted all of them.
    const std::int64_t peak_bytes = group.memory_peak_bytes();
    if (peak_bytes > 0) end.memory_peak_bytes = peak_bytes;
    limit_bytes = group.memory_limit_bytes();
  }
  if (status.fenced()) {  // also what was not started yet, and then complains of it
    end.exit.cause = "fenced";
  } else if (status.record.start_errno != 0) {
    end.exit.exit_code = 127;
    end.exit.cause = "start_failed: " + status.start_error;
  } else if (status.out_of_memory()) {
    end.exit.cause = fmt::format("out_of_memory: peak {}, limit {}",
                                 mebibytes(end.memory_peak_bytes), mebibytes(limit_bytes));
  } else if (status.stopped_running()) {
    end.exit.cause = status.stopped_by_others() ? "machine_stopped" : "agent_stopped";
  }
  return end;
}

Result<std::unique_ptr<ProcessRunner>> ProcessRunner::make(wire::Loop& loop,
                                                           ProcessRunnerOptions options) {
  TRY_ASSIGN(ShimChannel channel, ShimChannel::open(options.data_dir + "/channel"));
  return std::unique_ptr<ProcessRunner>(
      new ProcessRunner(loop, std::move(options), std::move(channel)));
}

ProcessRunner::ProcessRunner(wire::Loop& loop, ProcessRunnerOptions options, ShimChannel channel)
    : loop_(loop), options_(std::move(options)), channel_(std::move(channel)) {
  channel_watch_ = loop_.watch_readable(channel_.fd(), [this] { on_channel(); });
  if (options_.limits_processes && !options_.cgroup.empty()) {
    detect_cgroups();
  } else {
    not_enforced_ =
        "limits of memory, number of processes, cpus, huge pages and devices are not enforced: "
        "cgroups "
        "are off here (--cgroups on)";
  }
}

void ProcessRunner::detect_cgroups() {
  if (detected_ || options_.cgroup.empty()) return;
  detected_ = true;
  CgroupRoot root = CgroupRoot::detect(options_.cgroup);
  if (!root.not_enforced().empty()) {
    telemetry::log(telemetry::Level::kWarning, "not_enforced", {{"why", root.not_enforced()}});
  }
  if (options_.limits_processes) not_enforced_ = root.not_enforced();
  if (root.version() != CgroupRoot::Version::kNone) cgroups_ = std::move(root);
}

bool ProcessRunner::limits_memory() const {
  return options_.limits_processes && cgroups_ && cgroups_->limits_memory();
}

CgroupRoot* ProcessRunner::cgroups_of(const TaskPlan& plan) {
  const bool contained = !plan.launch.argv.empty();
  if (contained) detect_cgroups();
  return cgroups_ && (contained || options_.limits_processes) ? &*cgroups_ : nullptr;
}

std::string ProcessRunner::cgroup_path(const TaskPlan& plan) {
  detect_cgroups();
  return cgroups_ ? cgroups_->runtime_path(cgroup_name(plan)) : "";
}

void ProcessRunner::clear_cgroup(const TaskPlan& plan) {
  detect_cgroups();
  const CgroupName name = cgroup_name(plan);
  if (cgroups_) cgroups_->clear(name, levels_in_use(name));
}

// The groups above it, from the outermost, that tasks which are not over are in. One of them may
// be starting, and its runtime makes a group in there at any moment, without a lock.
std::size_t ProcessRunner::levels_in_use(const CgroupName& name) const {
  std::size_t used = 0;
  for (const auto& [tag, other] : shims_) {
    if (!other->left) used = std::max(used, name.shared_with(other->group));
  }
  return used;
}

bool ProcessRunner::only_v2() {
  detect_cgroups();
  return cgroups_ && cgroups_->version() == CgroupRoot::Version::kV2;
}

ProcessRunner::~ProcessRunner() = default;

Result<ShimConfig> ProcessRunner::config_of(const TaskPlan& plan) const {
  ShimConfig config;
  config.argv = plan.argv;
  config.environment.assign(plan.environment.begin(), plan.environment.end());
  if (!plan.secrets.empty()) config.secrets_path = secret_variables(plan.secrets);
  config.mark = plan.mark;
  config.workdir = plan.workdir;
  config.umask = plan.umask;
  static_cast<TaskIo&>(config) = static_cast<const TaskIo&>(plan);
  if (options_.pins_cores) config.cpus = plan.cores;
  if (plan.pins_memory || !plan.huge_pages.empty()) {
    const std::int64_t most = pinned_memory_max();
    config.rlimits.push_back({RLIMIT_MEMLOCK, most, most});
  }
  config.kill_grace_ms = plan.kill_grace_us / 1000;
  config.lease_path = options_.data_dir + "/lease";
  if (!plan.launch.argv.empty()) {
    config.program = plan.argv.empty() ? "" : plan.argv[0];
    config.argv = plan.launch.argv;
    config.environment = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}};
    config.secrets_path.clear();  // it finds them inside
    config.workdir = "/";
    config.pid_file = plan.launch.pid_file;
    config.joins = !plan.joins.empty();
  }
  if (plan.linux_user.empty()) return config;
  const std::optional<LinuxUser> user = known_linux_user(plan.linux_user);
  if (!user || user->uid == 0) {
    return Error{
        ErrorKind::kInvalid, "no_linux_user",
        fmt::format("Linux user '{}' does not exist on this node, or is root", plan.linux_user),
        ""};
  }
  config.uid = user->uid;
  config.gid = user->gid;
  config.groups.assign(user->groups.begin(), user->groups.end());
  return config;
}

// What it ends is its own, and memory that ran out in the cgroup was not its alone.
void ProcessRunner::join(const CgroupRoot& cgroups, const TaskPlan& plan, ShimConfig& config) {
  if (!config.pid_file.empty()) return;  // the runtime joins the container's
  TaskPlan other;
  other.attempt = plan.attempt;
  other.step = plan.step;
  other.mark = plan.joins;
  cgroups.find(cgroup_name(other)).add_to(config);
  config.cgroup_kill.clear();
  config.cgroup_oom.clear();
}

Result<std::unique_ptr<RunningTask>> ProcessRunner::start(const TaskPlan& plan,
                                                          TaskCallbacks callbacks) {
  TRY_ASSIGN(ShimConfig config, config_of(plan));
  CgroupRoot* const cgroups = cgroups_of(plan);
  if (!plan.joins.empty()) {
    if (cgroups != nullptr) join(*cgroups, plan, config);
  } else if (cgroups != nullptr) {
    CgroupLimits limits;
    limits.memory_bytes = plan.memory_bytes;
    limits.step_bytes = plan.step_bytes;
    limits.processes = options_.processes_max;
    limits.huge_pages = plan.huge_pages;
    if (options_.pins_cores) {
      limits.cpus = plan.cores;
      limits.nodes = plan.numa_nodes;
    }
    const bool contained = !config.pid_file.empty();  // the runtime has rules of its own
    if (options_.open_devices && !contained) {
      limits.devices = plan.device_nodes;
      limits.devices->insert(limits.devices->end(), options_.open_devices->begin(),
                             options_.open_devices->end());
    }
    TRY_ASSIGN(const Cgroup group, cgroups->create(cgroup_name(plan), limits));
    group.add_to(config);
    // The runtime puts its container there itself, and stays out of it.
    if (contained) config.cgroup_procs.clear();
  }
  TRY_ASSIGN(ShimHandle handle,
             ShimHandle::spawn(config, plan.path, {options_.shim_path, channel_.fd()}));
  auto watched = std::make_shared<Watched>(plan, std::move(callbacks));
  watch(watched, std::move(handle));
  return std::unique_ptr<RunningTask>(std::make_unique<Task>(std::move(watched)));
}

Result<std::unique_ptr<RunningTask>> ProcessRunner::adopt(const TaskPlan& plan,
                                                          TaskCallbacks callbacks) {
  if (!plan.launch.pid_file.empty()) detect_cgroups();
  auto watched = std::make_shared<Watched>(plan, std::move(callbacks));
  watched->started = true;
  take_up(watched);
  return std::unique_ptr<RunningTask>(std::make_unique<Task>(std::move(watched)));
}

void ProcessRunner::take_up(const std::shared_ptr<Watched>& watched) {
  const bool is_wrong = is_of_another(watched->path, watched->mark);
  Result<ShimHandle::Adopted> found = is_wrong
                                          ? Result<ShimHandle::Adopted>(not_its_file(watched->path))
                                          : ShimHandle::adopt(watched->path);
  if (!found.ok() && found.error().kind == ErrorKind::kTimeout) {
    return later(watched, 200, &ProcessRunner::take_up);
  }
  if (!found.ok()) {
    telemetry::log(telemetry::Level::kError, "task_unreadable",
                   {{"task", watched->mark}, {"why", found.error().message}});
  }
  switch (found.ok() ? found->state : ShimHandle::Adopted::State::kGone) {
    case ShimHandle::Adopted::State::kHeld:
    case ShimHandle::Adopted::State::kRunning:
      watch(watched, std::move(found->handle));
      if (watched->wanted_stop) watched->handle.stop();
      return;
    case ShimHandle::Adopted::State::kEnded:
      watched->end = end_of(*watched, found->status);
      watched->over = true;
      return later(
          watched, 0,
          found->status.survivors() ? &ProcessRunner::tell_swept : &ProcessRunner::tell_over);
    case ShimHandle::Adopted::State::kGone:
      watched->end = shim_lost(watched->rank);
      watched->over = true;
      return later(watched, 0, &ProcessRunner::tell_swept);
  }
}

void ProcessRunner::later(const std::shared_ptr<Watched>& watched, int wait_ms,
                          void (ProcessRunner::*what)(const std::shared_ptr<Watched>&)) {
  const std::weak_ptr<Watched> weak = watched;  // which owns the timer
  watched->timer = loop_.after(std::chrono::milliseconds(wait_ms), [this, weak, what] {
    if (const auto held = weak.lock()) (this->*what)(held);
  });
}

void ProcessRunner::watch(const std::shared_ptr<Watched>& watched, ShimHandle handle) {
  watched->handle = std::move(handle);
  const std::uint64_t tag = watched->handle.tag();
  watched->exit = loop_.watch_readable(watched->handle.pidfd(), [this, tag] { on_exit(tag); });
  shims_[tag] = watched;
}

void ProcessRunner::on_channel() {
  for (const shim::ShimRecord& record : channel_.read()) {
    const auto found = shims_.find(record.tag);
    if (found == shims_.end()) continue;
    const std::shared_ptr<Watched> watched = found->second;
    switch (record.kind) {
      case shim::kHeldRecord:
        break;
      case shim::kStartedRecord:
        tell_started(watched);
        break;
      case shim::kEndedRecord: {
        ShimStatus status{record, ""};
        if (record.start_errno != 0) {
          auto whole = read_shim_status(watched->handle.path());
          if (whole.ok() && whole->has_value()) status = **whole;
        }
        tell_end(watched, status);
        break;
      }
    }
  }
}

// The shim's process is over. Its last record may still be on the way; the file is the truth.
void ProcessRunner::on_exit(std::uint64_t tag) {
  const auto found = shims_.find(tag);
  if (found == shims_.end()) return;
  const std::shared_ptr<Watched> watched = found->second;
  if (!watched->handle.reap(0)) return;
  watched->exit.cancel();
  shims_.erase(found);
  if (watched->over) return;
  const auto status = read_shim_status(watched->path);
  if (status.ok() && status->has_value()) {
    tell_end(watched, **status);
  } else {
    watched->over = true;
    watched->end = shim_lost(watched->rank);
    tell_swept(watched);
  }
}

void ProcessRunner::tell_started(const std::shared_ptr<Watched>& watched) {
  if (watched->started || watched->over) return;
  watched->started = true;
  const TaskCallbacks callbacks = watched->callbacks;  // they may clear the others
  if (callbacks.on_started) callbacks.on_started();
}

void ProcessRunner::tell_end(const std::shared_ptr<Watched>& watched, const ShimStatus& status) {
  if (watched->over) return;
  if (status.record.start_errno == 0) tell_started(watched);
  watched->over = true;
  watched->end = end_of(*watched, status);
  if (status.survivors()) {
    tell_swept(watched);
  } else {
    tell_over(watched);
  }
}

// Ends what is left of the task, and looks again until there is nothing.
void ProcessRunner::tell_swept(const std::shared_ptr<Watched>& watched) {
  SweepTarget left{watched->mark, 0};
  if (const auto started = read_shim_started(watched->path); started.ok() && started->has_value()) {
    left.session = (*started)->task_pid;
  }
  const bool empty =
      !cgroups_ || cgroups_->find(watched->group).kill_all(std::chrono::milliseconds(0));
  if (sweep({left}, std::chrono::milliseconds(0)).clean && empty) return tell_over(watched);
  const int looks = ++watched->looks;
  if (looks == kLooksUntilSaid) {
    // What it holds stays held until it is gone, or the node boots anew.
    telemetry::log(telemetry::Level::kError, "task_will_not_die", {{"task", watched->mark}});
  }
  later(watched, std::min(1 << std::min(looks, 11), kLookAgainMax_ms), &ProcessRunner::tell_swept);
}

void ProcessRunner::tell_over(const std::shared_ptr<Watched>& watched) {
  watched->left = true;
  if (cgroups_) cgroups_->find(watched->group).remove(levels_in_use(watched->group));
  const TaskCallbacks callbacks = watched->callbacks;
  if (callbacks.on_ended) callbacks.on_ended(watched->end);
}

}  // namespace dove::agent
