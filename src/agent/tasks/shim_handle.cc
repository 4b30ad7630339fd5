#include "agent/tasks/shim_handle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "files/descriptor.h"
#include "shim/format.h"

namespace dove::agent {
namespace {

constexpr int kStartWaitMs = 2'000;

Error failed(const char* doing, const std::string& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EMFILE || reason == ENFILE ||
                    reason == EAGAIN || reason == ENOMEM;
  return {full ? ErrorKind::kExhausted : ErrorKind::kInternal, "shim",
          fmt::format("cannot {} {}: {}", doing, path, std::strerror(reason)), path};
}

// /dev/null, opened once for all shims.
int null_fd() {
  static const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd;
}

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Writes the configuration of a new task and returns its file open and locked.
Result<int> write_config(const ShimConfig& config, const std::string& path) {
  TRY_ASSIGN(const std::string bytes, shim_config_bytes(config));
  files::Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) {
    const int reason = errno;
    if (reason != EEXIST) return failed("make", path, reason);
    return Error{ErrorKind::kConflict, "task_exists",
                 fmt::format("{} is a task already; adopt it", path), path};
  }
  // Held by this descriptor until the shim, which inherits it, is gone.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return failed("lock", path, errno);
  const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) {
    const int reason = written < 0 ? errno : ENOSPC;
    ::unlink(path.c_str());
    return failed("write", path, reason);
  }
  return fd.release();
}

// As posix_spawn; returns the error's number.
int spawn_shim(const ShimSpawnOptions& options, const std::string& task, int config_fd,
               pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&files);
    return ENOMEM;
  }
  // Sources above the targets, or one would overwrite another.
  const files::Descriptor config(::fcntl(config_fd, F_DUPFD_CLOEXEC, 16));
  const int channel_from = options.channel_fd >= 0 ? options.channel_fd : null_fd();
  const files::Descriptor channel(::fcntl(channel_from, F_DUPFD_CLOEXEC, 16));
  const files::Descriptor null(::fcntl(null_fd(), F_DUPFD_CLOEXEC, 16));
  if (config.get() < 0 || channel.get() < 0 || null.get() < 0) {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return EMFILE;
  }
  for (const int target : {0, 1, 2}) {
    ::posix_spawn_file_actions_adddup2(&files, null.get(), target);
  }
  ::posix_spawn_file_actions_adddup2(&files, channel.get(), shim::kChannelFd);
  ::posix_spawn_file_actions_adddup2(&files, config.get(), shim::kTaskFd);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own, which no terminal signals; a session would cost a scheduling group.
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::string path = options.shim_path;
  std::string argument = task;
  char* argv[] = {path.data(), argument.data(), nullptr};
  char* environment[] = {nullptr};
  const int error = ::posix_spawn(&pid, path.c_str(), &files, &attributes, argv, environment);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// The pid that holds the POSIX lock on the configuration: the shim's. 0: nobody.
pid_t lock_owner(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid;
}

}  // namespace

Result<ShimHandle> ShimHandle::spawn(const ShimConfig& config, const std::string& path,
                                     const ShimSpawnOptions& options) {
  if (null_fd() < 0) return failed("open", "/dev/null", ENOENT);
  TRY_ASSIGN(const int config_fd, write_config(config, path));
  const files::Descriptor owned(config_fd);
  ShimHandle handle;
  handle.path_ = path;
  handle.tag_ = shim::task_tag(path.c_str());
  if (const int error = spawn_shim(options, path, config_fd, handle.pid_); error != 0) {
    ::unlink(path.c_str());
    return failed("start", options.shim_path, error);
  }
  handle.pidfd_ = open_pidfd(handle.pid_);
  if (handle.pidfd_ < 0) {
    const int reason = errno;
    ::kill(handle.pid_, SIGTERM);
    return failed("watch the shim of", path, reason);
  }
  return handle;
}

Result<ShimHandle::Adopted> ShimHandle::adopt(const std::string& path) {
  Adopted adopted;
  const files::Descriptor config(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (config.get() < 0 && errno != ENOENT) return failed("open", path, errno);
  for (int waited_ms = 0; config.get() >= 0; ++waited_ms) {
    const pid_t pid = lock_owner(config.get());
    if (pid != 0) {
      adopted.handle.pidfd_ = open_pidfd(pid);
      // It still owns the lock, so the descriptor is its, and not a later process's of that pid.
      if (adopted.handle.pidfd_ >= 0 && lock_owner(config.get()) == pid) {
        adopted.handle.pid_ = pid;
        adopted.handle.path_ = path;
        adopted.handle.tag_ = shim::task_tag(path.c_str());
        TRY_ASSIGN(const bool held, read_shim_held(path));
        adopted.state = held ? Adopted::State::kHeld : Adopted::State::kRunning;
        return adopted;
      }
      adopted.handle = ShimHandle();
    }
    if (::flock(config.get(), LOCK_EX | LOCK_NB) == 0) break;  // no shim, and none to come
    if (waited_ms >= kStartWaitMs) {
      return Error{ErrorKind::kTimeout, "shim_starting",
                   fmt::format("the shim of {} did not start in time; try again", path), path};
    }
    ::poll(nullptr, 0, 1);
  }
  TRY_ASSIGN(std::optional<ShimStatus> status, read_shim_status(path));
  if (status) {
    adopted.state = Adopted::State::kEnded;
    adopted.status = *std::move(status);
  }
  return adopted;
}

ShimHandle::ShimHandle(ShimHandle&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      tag_(other.tag_),
      path_(std::move(other.path_)) {}

ShimHandle& ShimHandle::operator=(ShimHandle&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(tag_, other.tag_);
  std::swap(path_, other.path_);
  return *this;
}

ShimHandle::~ShimHandle() {
  if (pidfd_ >= 0) ::close(pidfd_);
}

void ShimHandle::send(int number, int value) {
  if (pidfd_ < 0) return;
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = value;
  ::syscall(SYS_pidfd_send_signal, pidfd_, number, &info, 0);
}

void ShimHandle::go() { send(shim::kGoSignal, 0); }
void ShimHandle::stop() { send(shim::kStopSignal, 0); }
void ShimHandle::kill() { send(shim::kForwardSignal, SIGKILL); }
void ShimHandle::end_input() { send(shim::kEndInputSignal, 0); }
void ShimHandle::signal(int number) { send(shim::kForwardSignal, number); }

bool ShimHandle::reap(int timeout_ms) {
  if (pidfd_ < 0) return true;
  pollfd what{pidfd_, POLLIN, 0};
  if (::poll(&what, 1, timeout_ms) <= 0) return false;
  // An adopted shim is not our child: there is nothing to collect then.
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_), &info, WEXITED | WNOHANG);
  return true;
}

}  // namespace dove::agent
