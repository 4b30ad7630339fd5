#include "agent/tasks/script_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "containers/reaping.h"

extern char** environ;

namespace dove::agent {
namespace {

constexpr std::size_t kSaid_bytes = 1024;
constexpr std::chrono::milliseconds kLook{20};
constexpr int kNotStarted = 127;

// One that is not there has none.
Result<std::vector<std::string>> executables_in(const std::string& directory) {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (::access(entry->path().c_str(), X_OK) == 0) found.push_back(entry->path().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Error{ErrorKind::kUnavailable, "unreadable",
                 fmt::format("{} cannot be read: {}", directory, error.message()), directory};
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What the loop handles is not for the child to handle; what is ignored stays so, as with exec.
void drop_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
  }
}

// In the child, whose locks other threads may have held: nothing here takes one.
[[noreturn]] void become(char* const* args, int output) {
  drop_handlers();
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // An exec that hangs would keep the agent's locks and connections open beyond its end.
  close_range(3, ~0U, 0);
  execve(args[0], args, environ);
  const char* const program = args[0];
  for (const char* text : {program, " cannot be started: ", strerrordesc_np(errno)}) {
    if (write(2, text, std::strlen(text)) < 0) break;
  }
  _exit(kNotStarted);
}

// The child's pid, or 0 and errno. Its own process group; only 0, 1 and 2 are open in it. A program
// may be on a file system that hangs: posix_spawn would wait for its exec, a fork does not.
pid_t spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> args;
  for (const std::string& one : argv) args.push_back(const_cast<char*>(one.c_str()));
  args.push_back(nullptr);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) become(args.data(), output);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid > 0) setpgid(pid, pid);  // whoever is first
  errno = error;
  return pid > 0 ? pid : 0;
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

void list_programs(const Aside& aside, std::chrono::milliseconds limit,
                   const std::string& directory,
                   std::function<void(Result<std::vector<std::string>>)> done) {
  if (!aside) return done(executables_in(directory));
  const auto found = std::make_shared<Result<std::vector<std::string>>>(std::vector<std::string>());
  aside(
      directory, limit, [found, directory] { *found = executables_in(directory); },
      [found, limit, directory, done = std::move(done)](bool in_time) {
        if (in_time) return done(std::move(*found));  // else the thread may be writing it
        done(Error{ErrorKind::kTimeout, "no_answer", no_answer_from(directory, limit), directory});
      });
}

std::string no_answer_from(const std::string& path, std::chrono::milliseconds limit) {
  return fmt::format("{} has not answered within {} s; look at its mount (findmnt -T {})", path,
                     limit.count() / 1000, path);
}

}  // namespace dove::agent
