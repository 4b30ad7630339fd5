#include "agent/process_runner.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <chrono>

#include "agent/process_sweep.h"
#include "telemetry/log.h"

namespace dove::agent {

struct ProcessRunner::Watched {
  ShimHandle handle;
  std::string directory;
  std::string mark;
  Rank rank = 0;
  TaskCallbacks callbacks;
  bool started = false;
  bool ended = false;
  wire::FdWatch exit;
  wire::Timer later;
};

// The holder's end of a watched shim; the shim is watched on after it is gone.
class ProcessRunner::Task : public RunningTask {
 public:
  explicit Task(std::shared_ptr<Watched> watched) : watched_(std::move(watched)) {}
  ~Task() override { watched_->callbacks = {}; }
  void stop() override { watched_->handle.stop(); }
  void signal(int number) override { watched_->handle.signal(number); }

 private:
  std::shared_ptr<Watched> watched_;
};

namespace {

TaskEnd end_of(const ShimStatus& status, Rank rank) {
  TaskEnd end;
  end.exit.rank = rank;
  end.exit.exit_code = status.record.exit_code;
  end.exit.signal = status.record.exit_signal;
  end.cpu_us = status.record.cpu_user_us + status.record.cpu_system_us;
  end.memory_peak_bytes = status.record.max_rss_bytes;
  if (status.record.start_errno != 0) {
    end.exit.exit_code = 127;
    end.exit.cause = "start_failed: " + status.start_error;
  } else if (status.fenced()) {
    end.exit.cause = "fenced";
  } else if (status.out_of_memory()) {
    end.exit.cause = "out_of_memory";
  }
  return end;
}

}  // namespace

Result<std::unique_ptr<ProcessRunner>> ProcessRunner::make(wire::Loop& loop,
                                                           ProcessRunnerOptions options) {
  TRY_ASSIGN(ShimChannel channel, ShimChannel::open(options.data_dir + "/channel"));
  return std::unique_ptr<ProcessRunner>(
      new ProcessRunner(loop, std::move(options), std::move(channel)));
}

ProcessRunner::ProcessRunner(wire::Loop& loop, ProcessRunnerOptions options, ShimChannel channel)
    : loop_(loop), options_(std::move(options)), channel_(std::move(channel)) {
  channel_watch_ = loop_.watch_readable(channel_.fd(), [this] { on_channel(); });
}

ProcessRunner::~ProcessRunner() = default;

Result<ShimConfig> ProcessRunner::config_of(const TaskPlan& plan) const {
  ShimConfig config;
  config.argv = plan.argv;
  config.environment.assign(plan.environment.begin(), plan.environment.end());
  config.mark = plan.mark;
  config.workdir = plan.workdir;
  config.umask = plan.umask;
  config.stdin_path = plan.stdin_path;
  config.stdout_path = plan.stdout_path;
  config.stderr_path = plan.stderr_path;
  config.append = plan.append;
  config.rotate_bytes = plan.rotate_bytes;
  if (options_.pins_cores) config.cpus = plan.cores;
  config.kill_grace_ms = plan.kill_grace_us / 1000;
  config.lease_path = options_.data_dir + "/lease";
  if (plan.linux_user.empty()) return config;
  const passwd* entry = getpwnam(plan.linux_user.c_str());
  if (entry == nullptr) {
    return Error{ErrorKind::kInvalid, "no_linux_user",
                 fmt::format("Linux user '{}' does not exist on this node", plan.linux_user), ""};
  }
  config.uid = entry->pw_uid;
  config.gid = entry->pw_gid;
  int count = 256;
  gid_t groups[256];
  if (getgrouplist(entry->pw_name, entry->pw_gid, groups, &count) > 0) {
    config.groups.assign(groups, groups + count);
  }
  return config;
}

Result<std::unique_ptr<RunningTask>> ProcessRunner::start(const TaskPlan& plan,
                                                          TaskCallbacks callbacks) {
  TRY_ASSIGN(const ShimConfig config, config_of(plan));
  TRY_ASSIGN(ShimHandle handle,
             ShimHandle::spawn(config, plan.directory, {options_.shim_path, channel_.fd()}));
  return std::unique_ptr<RunningTask>(
      std::make_unique<Task>(watch(std::move(handle), plan, std::move(callbacks))));
}

Result<std::unique_ptr<RunningTask>> ProcessRunner::adopt(const TaskPlan& plan,
                                                          TaskCallbacks callbacks) {
  TRY_ASSIGN(ShimHandle::Adopted found, ShimHandle::adopt(plan.directory));
  const bool lives = found.state == ShimHandle::Adopted::State::kRunning ||
                     found.state == ShimHandle::Adopted::State::kHeld;
  if (lives) {
    auto watched = watch(std::move(found.handle), plan, std::move(callbacks));
    watched->started = true;
    return std::unique_ptr<RunningTask>(std::make_unique<Task>(std::move(watched)));
  }
  auto over = std::make_shared<Watched>();
  over->directory = plan.directory;
  over->mark = plan.mark;
  over->rank = plan.rank;
  over->callbacks = std::move(callbacks);
  over->started = true;
  const bool has_status = found.state == ShimHandle::Adopted::State::kEnded;
  over->later =
      loop_.after(std::chrono::microseconds(0), [this, over, has_status, status = found.status] {
        const std::shared_ptr<Watched> held = over;  // telling may destroy the timer's capture
        if (has_status) {
          tell_end(held, status);
        } else {
          tell_gone(held);
        }
      });
  return std::unique_ptr<RunningTask>(std::make_unique<Task>(std::move(over)));
}

std::shared_ptr<ProcessRunner::Watched> ProcessRunner::watch(ShimHandle handle,
                                                             const TaskPlan& plan,
                                                             TaskCallbacks callbacks) {
  auto watched = std::make_shared<Watched>();
  watched->handle = std::move(handle);
  watched->directory = plan.directory;
  watched->mark = plan.mark;
  watched->rank = plan.rank;
  watched->callbacks = std::move(callbacks);
  const std::uint64_t tag = watched->handle.tag();
  watched->exit = loop_.watch_readable(watched->handle.pidfd(), [this, tag] { on_exit(tag); });
  shims_[tag] = watched;
  return watched;
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
        if (!watched->started && watched->callbacks.on_started) {
          watched->started = true;
          watched->callbacks.on_started();
        }
        break;
      case shim::kEndedRecord: {
        ShimStatus status{record, ""};
        if (record.start_errno != 0) {
          auto whole = read_shim_status(watched->handle.directory());
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
  watched->exit.cancel();
  watched->handle.reap(0);
  shims_.erase(found);
  if (watched->ended) return;
  const auto status = read_shim_status(watched->handle.directory());
  if (status.ok() && status->has_value()) {
    tell_end(watched, **status);
  } else {
    tell_gone(watched);
  }
}

void ProcessRunner::tell_end(const std::shared_ptr<Watched>& watched, const ShimStatus& status) {
  if (watched->ended) return;
  watched->ended = true;
  if (status.survivors()) {
    // Not proven to be over: what it holds stays held until the node boots anew.
    telemetry::log(telemetry::Level::kError, "task_will_not_die", {{"task", watched->mark}});
    return;
  }
  const TaskCallbacks callbacks = watched->callbacks;
  if (!watched->started && status.record.start_errno == 0 && callbacks.on_started) {
    watched->started = true;
    callbacks.on_started();
  }
  if (callbacks.on_ended) callbacks.on_ended(end_of(status, watched->rank));
}

void ProcessRunner::tell_gone(const std::shared_ptr<Watched>& watched) {
  SweepTarget left{watched->mark, 0};
  if (const auto started = read_shim_started(watched->directory);
      started.ok() && started->has_value()) {
    left.session = (*started)->task_pid;
  }
  const SweepResult swept = sweep({left}, std::chrono::milliseconds(500));
  if (!swept.clean) {
    watched->later =
        loop_.after(std::chrono::milliseconds(200), [this, watched] { tell_gone(watched); });
    return;
  }
  watched->ended = true;
  TaskEnd end;
  end.exit.rank = watched->rank;
  end.exit.signal = 9;
  end.exit.cause = "shim_lost";
  const TaskCallbacks callbacks = watched->callbacks;
  if (callbacks.on_ended) callbacks.on_ended(end);
}

}  // namespace dove::agent
