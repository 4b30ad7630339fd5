#include "containers/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "containers/reaping.h"

namespace dove::containers {
namespace {

constexpr std::size_t kSaidMax = 600;
// What is stuck in the kernel does not die when it is killed.
constexpr std::chrono::seconds kDeathLimit{5};

Error cannot_start(const std::string& program, int reason) {
  return Error{ErrorKind::kInternal, "child",
               fmt::format("cannot start {}: {}", program, std::strerror(reason)), program};
}

// As posix_spawnp with output and errors to `out`; the error's number.
int spawn(const std::vector<std::string>& argv, int out, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&files);
    return ENOMEM;
  }
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out, 1);
  ::posix_spawn_file_actions_adddup2(&files, out, 2);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int error =
      ::posix_spawnp(&pid, pointers[0], &files, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Child::Child(wire::Loop& loop, std::vector<std::string> argv, std::chrono::milliseconds limit,
             Done done)
    : loop_(loop), argv_(std::move(argv)), done_(std::move(done)) {
  limit_ = loop_.after(limit, [this] {
    timed_out_ = true;
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
    limit_ = loop_.after(kDeathLimit, [this] { finish(too_late()); });
  });
  start();
}

void Child::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int reason = errno;
    limit_ = loop_.after(std::chrono::milliseconds(0),
                         [this, reason] { finish(cannot_start(argv_[0], reason)); });
    return;
  }
  output_ = ends[0];
  ::fcntl(ends[1], F_SETFL, 0);
  const int error = spawn(argv_, ends[1], pid_);
  ::close(ends[1]);
  if (error == 0) pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (error != 0 || pidfd_ < 0) {
    const int reason = error != 0 ? error : errno;
    if (error != 0) pid_ = -1;
    limit_ = loop_.after(std::chrono::milliseconds(0),
                         [this, reason] { finish(cannot_start(argv_[0], reason)); });
    return;
  }
  exit_watch_ = loop_.watch_readable(pidfd_, [this] { ended(); });
  output_watch_ = loop_.watch_readable(output_, [this] { read_output(); });
}

Child::~Child() {
  exit_watch_.cancel();
  output_watch_.cancel();
  if (output_ >= 0) ::close(output_);
  if (pidfd_ >= 0) ::close(pidfd_);
  if (pid_ <= 0) return;
  if (!timed_out_) ::kill(-pid_, SIGKILL);
  reap_or_leave(pid_);
}

Error Child::too_late() const {
  return Error{ErrorKind::kTimeout, "child",
               fmt::format("{} took too long and was ended", argv_[0]), argv_[0]};
}

void Child::read_output() {
  char some[4096];
  ssize_t got;
  while ((got = ::read(output_, some, sizeof some)) > 0) {
    said_.append(some, static_cast<std::size_t>(got));
    if (said_.size() > kSaidMax) said_.erase(0, said_.size() - kSaidMax);
  }
  if (got == 0) output_watch_.cancel();
}

void Child::ended() {
  exit_watch_.cancel();
  read_output();
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFEXITED(status)) exit_status_ = WEXITSTATUS(status);
  if (timed_out_) return finish(too_late());
  if (exit_status_ == 0) return finish({});
  while (!said_.empty() && said_.back() == '\n') said_.pop_back();
  finish(
      Error{ErrorKind::kInvalid, "child", fmt::format("{} failed: {}", argv_[0], said_), argv_[0]});
}

// The holder may destroy this from within `done`.
void Child::finish(Result<void> result) {
  limit_.cancel();
  const Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(result));
}

}  // namespace dove::containers
