// dove-shim: the parent of one task, from its start to the proof that nothing of it is left.
//
//     dove-shim TASK_FILE      (spawned by the agent; see agent/tasks/shim_handle.h)
//
// It outlives its agent and the controller. It holds the task's rotated output, its exit status
// and its fence, in a few pages of memory, and sleeps unless something happens. Words shared with
// the agent are in shim/format.h.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "shim/clock.h"
#include "shim/config.h"
#include "shim/container.h"
#include "shim/format.h"
#include "shim/launch.h"
#include "shim/lease.h"
#include "shim/output.h"
#include "shim/processes.h"
#include "shim/report.h"

namespace dove::shim {
namespace {

constexpr std::int64_t kLeftoverGraceUs = 1'000'000;  // for what a task leaves behind
constexpr std::int64_t kFirstRoundUs = 10'000;        // between rounds of SIGKILL, doubling
constexpr std::int64_t kLastRoundUs = 1'000'000;
constexpr std::int64_t kGiveUpUs = 30'000'000;  // after the first SIGKILL

class Shim {
 public:
  // Returns when nothing of the task is left, or what is left will not die.
  void run(const char* task);

 private:
  enum class Stop { kNo, kAsked, kKilling };

  bool set_up();
  bool open_rotated(const char* path, RotatedOutput& output, int& fd);
  void start_task();
  void tell_started();
  void hear_container();
  void wait_for_something();
  static bool is_stopped_already();
  void read_signals();
  void reap();
  void look_at_clock();
  void stop(std::int64_t grace_us);
  void kill_round(std::int64_t now_us);
  std::int64_t next_us() const;
  void report_end();

  Config config_;
  Streams streams_;
  Failure failure_;
  ShimRecord record_;
  RotatedOutput outputs_[2];
  Lease lease_;
  Container container_;
  int signal_fd_ = -1;
  int timer_fd_ = -1;
  std::int64_t armed_us_ = INT64_MAX;

  bool held_ = false;
  bool main_alive_ = false;
  bool over_ = false;
  Stop stop_ = Stop::kNo;
  std::int64_t kill_at_us_ = INT64_MAX;
  std::int64_t give_up_at_us_ = INT64_MAX;
  std::int64_t round_us_ = kFirstRoundUs;
};

bool Shim::open_rotated(const char* path, RotatedOutput& output, int& fd) {
  if (path == nullptr) return true;
  if (!output.open(config_, path)) {
    failure_ = Failure{errno, "open the output file", path};
    return false;
  }
  fd = output.write_end();
  return true;
}

bool Shim::set_up() {
  if (!read_config(agent::shim::kTaskFd, config_)) {
    failure_ = Failure{EINVAL, "read", "the configuration of the task"};
    return false;
  }
  if (!take_secrets(config_)) {
    failure_ = Failure{errno, "read", "the secrets of the task"};
    return false;
  }
  if (!prepare(config_, streams_, failure_)) return false;
  if (config_.rotate_bytes == 0) return true;
  if (!open_rotated(config_.stdout_path, outputs_[0], streams_.out)) return false;
  if (config_.stdout_path != nullptr && config_.stderr_path != nullptr &&
      std::strcmp(config_.stdout_path, config_.stderr_path) == 0) {
    streams_.err = streams_.out;
    return true;
  }
  return open_rotated(config_.stderr_path, outputs_[1], streams_.err);
}

void Shim::start_task() {
  held_ = false;
  record_.started_boottime_us = boottime_us();
  record_.started_realtime_us = realtime_us();
  if (config_.pid_file != nullptr && !container_.open(streams_.tell, failure_)) {
    over_ = true;
    return;
  }
  const pid_t pid = start(config_, streams_, failure_);
  for (RotatedOutput& output : outputs_) output.close_write_end();
  if (pid < 0) {
    over_ = true;
    return;
  }
  main_alive_ = true;
  record_.task_pid = pid;
  if (config_.pid_file != nullptr) {
    container_.launched(pid, streams_.tell);
  } else {
    tell_started();
  }
}

void Shim::tell_started() {
  record_.kind = agent::shim::kStartedRecord;
  send_record(record_);
  write_started(config_.report_at, record_);
}

void Shim::hear_container() {
  container_.hear();
  if (container_.runs() && record_.kind != agent::shim::kStartedRecord) tell_started();
}

void Shim::run(const char* task) {
  record_.tag = agent::shim::task_tag(task);
  record_.shim_pid = ::getpid();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGHUP, SIGINT, SIGPIPE}) ::sigaction(number, &ignore, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signal_fd_ = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!set_up()) {
    report_end();
    return;
  }
  if (!lease_.open(config_, boottime_us())) {
    record_.flags |= agent::shim::kFenced;
    over_ = true;
  } else if (config_.hold) {
    held_ = true;
    write_held(config_.report_at);
    send_record(record_);
  } else if (is_stopped_already()) {
    held_ = true;
    read_signals();
    // It ends as one that the stop met a moment after its start.
    record_.flags |= agent::shim::kStoppedRunning;
    record_.exit_signal = record_.stop_signal = SIGTERM;
  } else {
    start_task();
  }
  while (!over_) wait_for_something();
  report_end();
}

// A stop that came while the task's directory and files were opened, which may take long.
bool Shim::is_stopped_already() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, agent::shim::kStopSignal) == 1;
}

std::int64_t Shim::next_us() const {
  std::int64_t next = lease_.look_at_us();
  return kill_at_us_ < next ? kill_at_us_ : next;
}

void Shim::wait_for_something() {
  const std::int64_t next = next_us();
  if (next != armed_us_) {
    if (timer_fd_ < 0) timer_fd_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    itimerspec when{};
    if (next != INT64_MAX) {
      when.it_value.tv_sec = next / 1'000'000;
      when.it_value.tv_nsec = next % 1'000'000 * 1000 + 1;  // 0 would disarm
    }
    ::timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &when, nullptr);
    armed_us_ = next;
  }
  pollfd what[] = {{signal_fd_, POLLIN, 0},
                   {timer_fd_, POLLIN, 0},
                   {outputs_[0].read_end(), POLLIN, 0},
                   {outputs_[1].read_end(), POLLIN, 0},
                   {container_.fd(), POLLIN, 0}};
  if (::poll(what, 5, -1) < 0) return;
  if (what[2].revents != 0) outputs_[0].copy();
  if (what[3].revents != 0) outputs_[1].copy();
  if (what[4].revents != 0) hear_container();
  if (what[1].revents != 0) look_at_clock();
  if (what[0].revents != 0) read_signals();
}

void Shim::read_signals() {
  signalfd_siginfo signals[8];
  const ssize_t got = ::read(signal_fd_, signals, sizeof signals);
  for (ssize_t i = 0; i < got / static_cast<ssize_t>(sizeof signals[0]); ++i) {
    const int number = static_cast<int>(signals[i].ssi_signo);
    if (number == SIGCHLD) {
      reap();
    } else if (number == agent::shim::kGoSignal) {
      if (held_ && !over_) start_task();
    } else if (number == agent::shim::kStopSignal) {
      reap();  // what ended before did so by itself
      record_.flags |= agent::shim::kKilledByAgent;
      if (main_alive_) record_.flags |= agent::shim::kStoppedRunning;
      if (signals[i].ssi_code != SI_QUEUE) record_.flags |= agent::shim::kStoppedByOthers;
      stop(config_.kill_grace_us);
    } else if (number == agent::shim::kEndInputSignal) {
      if (streams_.held_in >= 0) ::close(streams_.held_in);
      streams_.held_in = -1;
    } else if (number == agent::shim::kForwardSignal) {
      const int forwarded = signals[i].ssi_int;
      if (forwarded == SIGKILL) {
        record_.flags |= agent::shim::kKilledByAgent;
        stop(0);
      } else if (main_alive_) {
        ::kill(-record_.task_pid, forwarded);
      }
    }
  }
}

void Shim::reap() {
  bool ended = false;
  pid_t pid;
  int status = 0;
  if (container_.launching()) {
    if (!container_.reap_launcher(config_, record_.task_pid, failure_)) return;
    main_alive_ = failure_.number == 0;
    ended = !main_alive_;
    hear_container();
  }
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != record_.task_pid || !main_alive_) continue;
    main_alive_ = false;
    ended = true;
    if (config_.pid_file != nullptr) {
      hear_container();
      container_.settle(config_, status, failure_);
    }
    if (WIFSIGNALED(status)) {
      record_.exit_signal = WTERMSIG(status);
    } else {
      record_.exit_code = WEXITSTATUS(status);
    }
  }
  if (main_alive_) return;
  if (pid < 0 && errno == ECHILD) {
    over_ = true;
  } else if (ended && stop_ != Stop::kKilling) {
    // Something in the background was left behind, and is the shim's now.
    stop(kLeftoverGraceUs < config_.kill_grace_us ? kLeftoverGraceUs : config_.kill_grace_us);
  }
}

// Asks all of the task to end, and makes it end `grace_us` from now or when a former stop said,
// whichever is sooner.
void Shim::stop(std::int64_t grace_us) {
  if (held_) {
    over_ = true;
    return;
  }
  if (over_ || stop_ == Stop::kKilling) return;
  const std::int64_t now_us = boottime_us();
  if (grace_us <= 0) {
    kill_round(now_us);
    return;
  }
  if (now_us + grace_us < kill_at_us_) kill_at_us_ = now_us + grace_us;
  if (stop_ == Stop::kNo) {
    stop_ = Stop::kAsked;
    pid_t group = 0;
    if (main_alive_) {
      record_.stop_signal = SIGTERM;
      group = record_.task_pid;
      ::kill(-group, SIGTERM);
      ::kill(-group, SIGCONT);
    }
    // In a container, process 1 passes it on.
    if (!container_.runs()) signal_descendants(SIGTERM, group);
  }
}

void Shim::kill_round(std::int64_t now_us) {
  if (stop_ != Stop::kKilling) {
    stop_ = Stop::kKilling;
    give_up_at_us_ = now_us + kGiveUpUs;
    if (main_alive_) record_.stop_signal = SIGKILL;
  }
  if (now_us >= give_up_at_us_) {
    record_.flags |= agent::shim::kSurvivors;
    over_ = true;
    return;
  }
  kill_cgroup(config_.cgroup_kill);
  if (config_.joins && main_alive_ && !container_.launching()) {
    // Orphans come to it, and without it to the container's process 1, out of our sight.
    if (signal_descendants(SIGKILL, record_.task_pid) <= 1) ::kill(-record_.task_pid, SIGKILL);
  } else {
    if (main_alive_) ::kill(-record_.task_pid, SIGKILL);
    signal_descendants(SIGKILL, 0);
  }
  kill_at_us_ = now_us + round_us_;
  round_us_ = round_us_ * 2 < kLastRoundUs ? round_us_ * 2 : kLastRoundUs;
}

void Shim::look_at_clock() {
  armed_us_ = INT64_MAX;
  const std::int64_t now_us = boottime_us();
  if (now_us >= lease_.look_at_us() && lease_.ends(now_us)) {
    record_.flags |= agent::shim::kFenced;
    stop(lease_.deadline_us() - now_us);
  }
  if (now_us >= kill_at_us_ && !over_) kill_round(now_us);
}

void Shim::report_end() {
  for (RotatedOutput& output : outputs_) {
    output.drain();
    if (output.dropped()) record_.flags |= agent::shim::kOutputDropped;
  }
  if (failure_.number != 0) {
    record_.start_errno = failure_.number;
    record_.started_boottime_us = record_.started_realtime_us = 0;
  }
  if (counted_oom_kill(config_.cgroup_oom)) record_.flags |= agent::shim::kOutOfMemory;
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  record_.cpu_user_us = microseconds(usage.ru_utime) - container_.launch_user_us();
  record_.cpu_system_us = microseconds(usage.ru_stime) - container_.launch_system_us();
  record_.max_rss_bytes = usage.ru_maxrss * 1024;
  record_.ended_boottime_us = boottime_us();
  record_.ended_realtime_us = realtime_us();
  record_.kind = agent::shim::kEndedRecord;
  write_status(config_.report_at, record_, failure_);
  send_record(record_);
}

// Takes the lock that tells the shim's pid; see agent/tasks/shim_handle.cc.
void own_task() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  ::fcntl(agent::shim::kTaskFd, F_SETLK, &lock);
  ::fcntl(agent::shim::kTaskFd, F_SETFD, FD_CLOEXEC);
  ::fcntl(agent::shim::kChannelFd, F_SETFD, FD_CLOEXEC);
  ::syscall(SYS_close_range, agent::shim::kFirstFreeFd, ~0U, 0);  // musl has no function for it
}

}  // namespace
}  // namespace dove::shim

int main(int argc, char** argv) {
  if (argc != 2 || ::fcntl(dove::agent::shim::kTaskFd, F_GETFD) < 0) {
    constexpr const char kUsage[] =
        "dove-shim runs one task for dove's agent, which starts it with the task's file\n";
    if (::write(2, kUsage, sizeof kUsage - 1) < 0) return 2;
    return 2;
  }
  dove::shim::own_task();
  static dove::shim::Shim shim;
  shim.run(argv[1]);
  return 0;
}
