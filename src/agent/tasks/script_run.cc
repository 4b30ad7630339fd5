#include "agent/tasks/script_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "containers/reaping.h"

extern char** environ;

namespace dove::agent {
namespace {

constexpr std::size_t kSaid_bytes = 1024;
constexpr std::chrono::milliseconds kLook{20};

// The child's pid, or 0 and errno. Its own process group; only 0, 1 and 2 are open in it.
pid_t spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> args;
  for (const std::string& one : argv) args.push_back(const_cast<char*>(one.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_adddup2(&files, output, 2);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, args.front(), &files, &how, args.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  errno = error;
  return error == 0 ? pid : 0;
}

}  // namespace

ScriptRun::ScriptRun(wire::Loop& loop, std::vector<std::string> argv,
                     std::chrono::milliseconds limit, std::function<void(ScriptEnd)> done)
    : loop_(loop),
      program_(argv.front()),
      deadline_us_(loop.monotonic_us() + limit.count() * 1000),
      done_(std::move(done)) {
  int pipe[2] = {-1, -1};
  if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) == 0) {
    output_ = pipe[0];
    fcntl(pipe[1], F_SETFL, 0);
    pid_ = spawn(argv, pipe[1]);
    close(pipe[1]);
  }
  if (pid_ <= 0) said_ = fmt::format("{} cannot be started: {}", program_, std::strerror(errno));
  timer_ = loop_.after(pid_ > 0 ? kLook : std::chrono::milliseconds(0), [this] { look(); });
}

ScriptRun::~ScriptRun() {
  if (pid_ > 0) {
    if (!killed_) kill_group();
    containers::reap_or_leave(pid_);
  }
  if (output_ >= 0) close(output_);
}

bool ScriptRun::lingers() {
  if (pid_ > 0 && containers::reap_or_leave(pid_)) pid_ = -1;
  return pid_ > 0;
}

void ScriptRun::kill_group() const { kill(-pid_, SIGKILL); }

void ScriptRun::read_output() {
  char bytes[4096];
  for (;;) {
    const ssize_t got = read(output_, bytes, sizeof bytes);
    if (got <= 0) return;
    if (said_.size() < kSaid_bytes) said_.append(bytes, static_cast<std::size_t>(got));
  }
}

void ScriptRun::look() {
  if (pid_ <= 0) return end(ScriptEnd{-1, said_});
  read_output();
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0 && loop_.monotonic_us() < deadline_us_) {
    timer_ = loop_.after(kLook, [this] { look(); });
    return;
  }
  kill_group();  // also what it has left behind
  if (ended == 0) {
    killed_ = true;
    return end(ScriptEnd{-1, fmt::format("{} took too long", program_)});
  }
  pid_ = -1;
  read_output();
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  end(ScriptEnd{code, said_.substr(0, std::min(said_.find('\n'), kSaid_bytes))});
}

void ScriptRun::end(ScriptEnd end) {
  const auto done = std::move(done_);
  done(std::move(end));  // may end this object
}

}  // namespace dove::agent
