#include "slurm/command_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "telemetry/clock.h"

extern char** environ;

namespace dove::slurm {
namespace {

constexpr std::size_t kSaidMax = 4 << 10;

struct Pipe {
  int from = -1;
  int to = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    from = ends[0];
    to = ends[1];
    return true;
  }
  void close_to() {
    if (to >= 0) ::close(std::exchange(to, -1));
  }
  ~Pipe() {
    close_to();
    if (from >= 0) ::close(from);
  }
};

Error failed(ErrorKind kind, const char* code, const std::string& program, std::string_view why) {
  return Error{kind, code, fmt::format("{}: {}", program, why), ""};
}

bool is_slurm_setting(std::string_view entry) {
  for (const std::string_view begin :
       {"SLURM_", "SALLOC_", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SRUN_"}) {
    if (entry.starts_with(begin)) return !entry.starts_with("SLURM_CONF=");
  }
  return false;
}

// The error's number; 0: it runs.
int spawn(const std::vector<std::string>& command, const Pipe& out, const Pipe& err, pid_t& pid) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_slurm_setting(*entry)) variables.push_back(*entry);
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.to, 1);
  ::posix_spawn_file_actions_adddup2(&files, err.to, 2);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &all);
  ::posix_spawnattr_setflags(
      &how,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const int error =
      ::posix_spawnp(&pid, arguments[0], &files, &how, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return error;
}

enum class Reading { kDone, kSlow, kTooMuch, kEnough };

bool has_line_with(std::string_view text, std::string_view words) {
  const std::size_t at = words.empty() ? std::string_view::npos : text.find(words);
  return at != std::string_view::npos && text.find('\n', at) != std::string_view::npos;
}

// Reads both pipes to their ends.
Reading read_all(const Pipe& out, const Pipe& err, std::int64_t deadline_us,
                 const CommandWanted& wanted, CommandEnd& end) {
  pollfd watched[2] = {{out.from, POLLIN, 0}, {err.from, POLLIN, 0}};
  std::vector<char> some(64 << 10);
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const std::int64_t left_ms = (deadline_us - telemetry::monotonic_us()) / 1000;
    if (left_ms <= 0) return Reading::kSlow;
    if (::poll(watched, 2, static_cast<int>(left_ms)) <= 0) continue;
    for (pollfd& one : watched) {
      if (one.fd < 0 || one.revents == 0) continue;
      const ssize_t got = ::read(one.fd, some.data(), some.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        one.fd = -1;
        continue;
      }
      const std::string_view bytes(some.data(), static_cast<std::size_t>(got));
      if (&one == &watched[1]) {
        end.said.append(bytes.substr(0, kSaidMax - std::min(kSaidMax, end.said.size())));
        if (has_line_with(end.said, wanted.enough)) return Reading::kEnough;
        continue;
      }
      if (end.output.size() + bytes.size() > wanted.output_max) return Reading::kTooMuch;
      end.output.append(bytes);
    }
  }
  return Reading::kDone;
}

// It may have closed its output and run on.
bool ends_before(pid_t pid, std::int64_t deadline_us) {
  pollfd ended{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0};
  if (ended.fd < 0) return true;
  int ready = 0;
  do {
    const std::int64_t left_ms = (deadline_us - telemetry::monotonic_us()) / 1000;
    ready = left_ms <= 0 ? 0 : ::poll(&ended, 1, static_cast<int>(left_ms));
  } while (ready < 0 && errno == EINTR);
  ::close(ended.fd);
  return ready > 0;
}

}  // namespace

Result<CommandEnd> run_command(const CommandWanted& wanted) {
  const std::int64_t deadline_us = telemetry::monotonic_us() + wanted.limit.count() * 1000;
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) {
    return failed(ErrorKind::kUnavailable, "cannot_start", wanted.words[0], std::strerror(errno));
  }
  pid_t pid = 0;
  if (const int error = spawn(wanted.words, out, err, pid); error != 0) {
    return failed(ErrorKind::kUnavailable, "cannot_start", wanted.words[0], std::strerror(error));
  }
  out.close_to();
  err.close_to();
  CommandEnd end;
  const Reading how = read_all(out, err, deadline_us, wanted, end);
  if (how != Reading::kDone) ::kill(-pid, SIGKILL);
  bool slow = how == Reading::kSlow;
  if (how == Reading::kDone && !ends_before(pid, deadline_us)) {
    slow = true;
    ::kill(-pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (slow) {
    return failed(ErrorKind::kTimeout, "too_slow", wanted.words[0],
                  fmt::format("no end after {} ms", wanted.limit.count()));
  }
  if (how == Reading::kTooMuch) {
    return failed(ErrorKind::kTooLarge, "too_much", wanted.words[0],
                  fmt::format("it prints more than {} MiB", wanted.output_max >> 20));
  }
  while (!end.said.empty() && end.said.back() == '\n') end.said.pop_back();
  if (how != Reading::kEnough) {
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return end;
}

}  // namespace dove::slurm
