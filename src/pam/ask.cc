#include "pam/ask.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>

#include "files/descriptor.h"
#include "pam/message.h"

namespace dove::pam {
namespace {

constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kAnswerBytesMax = 4096;

Error failed(const std::string& why) {
  return {
      ErrorKind::kUnavailable, "pam_failed",
      fmt::format("the password could not be checked: {}; try again, or sign in with a token", why),
      ""};
}

// A pipe, whose ends are no child's but by dup2.
struct Pipe {
  files::Descriptor out;
  files::Descriptor in;
};

std::optional<Pipe> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{files::Descriptor(ends[0]), files::Descriptor(ends[1])};
}

// In a process group of its own, so that what a module started ends with it, and without our
// environment.
std::optional<pid_t> start(const std::string& program, const Pipe& question, const Pipe& answer) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&how);
  posix_spawn_file_actions_adddup2(&files, question.out.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, answer.in.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&how, 0);
  std::string name = program, word = "check-password", path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::array<char*, 3> arguments = {name.data(), word.data(), nullptr};
  std::array<char*, 2> environment = {path.data(), nullptr};
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &files, &how, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  return error == 0 ? std::optional(pid) : std::nullopt;
}

// What it writes until it closes its output; nothing when it takes too long, or says too much.
std::optional<std::string> read_answer(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  std::string text;
  while (text.size() <= kAnswerBytesMax) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waited{fd, POLLIN, 0};
    if (left.count() <= 0) return std::nullopt;
    if (::poll(&waited, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 1024> piece{};
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got == 0) return text;
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
  return std::nullopt;
}

Result<Account> account_in(const std::string& answer) {
  const std::vector<std::string> parts = parts_of(answer);
  if (parts.size() == 3 && parts[0] == "ok") {
    Account account{parts[1], 0};
    const char* end = parts[2].data() + parts[2].size();
    const auto read = std::from_chars(parts[2].data(), end, account.uid);
    if (read.ec == std::errc() && read.ptr == end) return account;
  }
  if (parts.size() != 2) return failed("its process died");
  const ErrorKind kind =
      parts[0] == "pam_failed" ? ErrorKind::kUnavailable : ErrorKind::kUnauthenticated;
  return Error{kind, parts[0], parts[1], parts[0] == "account_closed" ? "user" : "password"};
}

}  // namespace

Result<Account> ask(const std::string& program, const Service& service, const std::string& user,
                    const std::string& password) {
  std::optional<Pipe> to = open_pipe();
  std::optional<Pipe> from = open_pipe();
  if (!to || !from) return failed(std::strerror(errno));
  const std::optional<pid_t> pid = start(program, *to, *from);
  if (!pid.has_value()) return failed(fmt::format("{} cannot be started", program));
  to->out.close();
  from->in.close();
  // Less than a pipe takes at once; SIGPIPE is ignored by the server.
  const std::string question = joined({service.name, service.directory, user, password});
  const bool asked = ::write(to->in.get(), question.data(), question.size()) ==
                     static_cast<ssize_t>(question.size());
  to->in.close();
  const std::optional<std::string> answer = asked ? read_answer(from->out.get()) : std::nullopt;
  ::kill(-*pid, SIGKILL);
  while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!answer.has_value()) return failed(fmt::format("no answer within {} s", kTimeout.count()));
  return account_in(*answer);
}

}  // namespace dove::pam
