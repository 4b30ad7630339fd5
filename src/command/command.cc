#include "command/command.h"

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
#include <span>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "base/exec_words.h"
#include "files/descriptor.h"
#include "telemetry/clock.h"

extern char** environ;

namespace dove::command {
namespace {

constexpr std::size_t kSaidMax = 4 << 10;
// What waits for a file system that does not answer cannot be killed, and is left to itself.
constexpr std::int64_t kKilled_us = 1'000'000;

struct Pipe {
  files::Descriptor from;
  files::Descriptor to;
};

std::optional<Pipe> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{files::Descriptor(ends[0]), files::Descriptor(ends[1])};
}

Error failed(ErrorKind kind, const char* code, const std::string& program, std::string_view why) {
  return Error{kind, code, fmt::format("{}: {}", program, why), ""};
}

// The error's number; 0: it runs.
int spawn(const Wanted& wanted, const Pipe& in, const Pipe& out, const Pipe& err, pid_t& pid) {
  std::vector<std::string> words = wanted.words;
  std::vector<std::string> environment = wanted.environment.value_or(std::vector<std::string>{});
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> variables = pointers(environment);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_adddup2(&files, in.from.get(), 0);
  ::posix_spawn_file_actions_adddup2(&files, out.to.get(), 1);
  ::posix_spawn_file_actions_adddup2(&files, err.to.get(), 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &all);
  const int apart = wanted.own_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  ::posix_spawnattr_setflags(
      &how, static_cast<short>(apart | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const int error = ::posix_spawnp(&pid, arguments[0], &files, &how, arguments.data(),
                                   wanted.environment.has_value() ? variables.data() : environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return error;
}

enum class Reading { kDone, kSlow, kTooMuch, kEnough };

bool has_line_with(std::string_view text, std::string_view words) {
  const std::size_t at = words.empty() ? std::string_view::npos : text.find(words);
  return at != std::string_view::npos && text.find('\n', at) != std::string_view::npos;
}

// A program that runs. `ended` is readable once it has ended; closed: that cannot be watched.
struct Running {
  pid_t pid;
  files::Descriptor ended;
};

// Reads both pipes to their ends. Once the program has ended, what it has left may hold them open:
// that is killed, and what is in them by then is all.
Reading read_all(const Pipe& out, const Pipe& err, const Running& program, std::int64_t deadline_us,
                 const Wanted& wanted, End& end) {
  pollfd watched[3] = {
      {out.from.get(), POLLIN, 0}, {err.from.get(), POLLIN, 0}, {program.ended.get(), POLLIN, 0}};
  std::vector<char> some(64 << 10);
  bool is_over = false;
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const std::int64_t left_ms = (deadline_us - telemetry::monotonic_us()) / 1000;
    if (left_ms <= 0) return Reading::kSlow;
    const int ready = ::poll(watched, 3, is_over ? 0 : static_cast<int>(left_ms));
    if (ready == 0 && is_over) return Reading::kDone;
    if (ready <= 0) continue;
    if (watched[2].revents != 0) {
      is_over = true;
      watched[2].fd = -1;
      ::kill(-program.pid, SIGKILL);
    }
    for (pollfd& one : std::span(watched, 2)) {
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
bool ends_before(const Running& program, std::int64_t deadline_us) {
  pollfd ended{program.ended.get(), POLLIN, 0};
  if (ended.fd < 0) return true;
  int ready = 0;
  do {
    const std::int64_t left_ms = (deadline_us - telemetry::monotonic_us()) / 1000;
    ready = left_ms <= 0 ? 0 : ::poll(&ended, 1, static_cast<int>(left_ms));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<End> run(const Wanted& wanted) {
  CHECK(wanted.input.size() <= kInputMax, "the input fits into a pipe");
  const std::int64_t deadline_us = telemetry::monotonic_us() + wanted.limit.count() * 1000;
  std::optional<Pipe> in = open_pipe();
  std::optional<Pipe> out = open_pipe();
  std::optional<Pipe> err = open_pipe();
  if (!in || !out || !err) {
    return failed(ErrorKind::kUnavailable, "cannot_start", wanted.words[0], std::strerror(errno));
  }
  pid_t pid = 0;
  if (const int error = spawn(wanted, *in, *out, *err, pid); error != 0) {
    return failed(ErrorKind::kUnavailable, "cannot_start", wanted.words[0], std::strerror(error));
  }
  in->from = files::Descriptor();
  out->to = files::Descriptor();
  err->to = files::Descriptor();
  if (!wanted.input.empty()) {
    // Whoever ends without reading it has ended; that shows below.
    (void)!::write(in->to.get(), wanted.input.data(), wanted.input.size());
  }
  in->to = files::Descriptor();
  const Running program{pid,
                        files::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  End end;
  const Reading how = read_all(*out, *err, program, deadline_us, wanted, end);
  const bool slow =
      how == Reading::kSlow || (how == Reading::kDone && !ends_before(program, deadline_us));
  ::kill(-pid, SIGKILL);  // what it has left, too
  int status = 0;
  if (slow && !ends_before(program, telemetry::monotonic_us() + kKilled_us)) {
    std::thread([pid] { wait_for(pid); }).detach();
  } else {
    status = wait_for(pid);
  }
  if (slow) {
    return failed(ErrorKind::kTimeout, "too_slow", wanted.words[0],
                  fmt::format("no end after {} ms", wanted.limit.count()));
  }
  if (how == Reading::kTooMuch) {
    return failed(ErrorKind::kTooLarge, "too_much", wanted.words[0],
                  fmt::format("it prints more than {} KiB", wanted.output_max >> 10));
  }
  while (!end.said.empty() && end.said.back() == '\n') end.said.pop_back();
  if (how != Reading::kEnough) {
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return end;
}

}  // namespace dove::command
