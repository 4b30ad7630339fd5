#include "cli/client/program.h"

#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/exec_words.h"

extern char** environ;

namespace dove::cli {
namespace {

constexpr std::size_t kOutputMax = 64 << 10;

struct File {
  int fd = -1;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

Error failed(const char* code, const std::string& program, const char* why) {
  return Error{ErrorKind::kUnavailable, code, fmt::format("{}: {}", program, why), ""};
}

// The process's end; it is killed when it takes too long.
Result<int> end_of(pid_t pid, const ProgramWanted& wanted) {
  bool slow = false;
  if (wanted.limit_s > 0) {
    File handle{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
    pollfd ready{handle.fd, POLLIN, 0};
    slow = handle.fd >= 0 && poll(&ready, 1, wanted.limit_s * 1000) == 0;
    if (slow) kill(pid, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (slow) return failed("too_slow", wanted.command[0], "it takes too long");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramWanted& wanted) {
  File input{memfd_create("input", MFD_CLOEXEC)};
  File output{memfd_create("output", MFD_CLOEXEC)};
  if (input.fd < 0 || output.fd < 0) {
    return failed("cannot_start", wanted.command[0], std::strerror(errno));
  }
  for (std::size_t at = 0; at < wanted.input.size();) {
    const ssize_t n = write(input.fd, wanted.input.data() + at, wanted.input.size() - at);
    if (n < 0) return failed("cannot_start", wanted.command[0], std::strerror(errno));
    at += static_cast<std::size_t>(n);
  }
  lseek(input.fd, 0, SEEK_SET);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.fd, 0);
  if (wanted.keep_output) {
    posix_spawn_file_actions_adddup2(&actions, output.fd, 1);
    posix_spawn_file_actions_adddup2(&actions, output.fd, 2);
  }
  std::vector<std::string> command = wanted.command;
  std::vector<std::string> environment = wanted.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  pid_t pid = 0;
  const int problem = posix_spawnp(&pid, command[0].c_str(), &actions, nullptr,
                                   pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return failed("cannot_start", wanted.command[0], std::strerror(problem));
  ProgramEnd end;
  TRY_ASSIGN(end.code, end_of(pid, wanted));
  if (!wanted.keep_output) return end;
  end.output.resize(kOutputMax);
  const ssize_t n = pread(output.fd, end.output.data(), kOutputMax, 0);
  end.output.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return end;
}

}  // namespace dove::cli
