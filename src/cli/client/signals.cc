#include "cli/client/signals.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <utility>

namespace dove::cli {
namespace {

constexpr std::array<std::pair<const char*, int>, 15> kNames = {{{"HUP", SIGHUP},
                                                                 {"INT", SIGINT},
                                                                 {"QUIT", SIGQUIT},
                                                                 {"ABRT", SIGABRT},
                                                                 {"KILL", SIGKILL},
                                                                 {"USR1", SIGUSR1},
                                                                 {"USR2", SIGUSR2},
                                                                 {"PIPE", SIGPIPE},
                                                                 {"ALRM", SIGALRM},
                                                                 {"TERM", SIGTERM},
                                                                 {"CONT", SIGCONT},
                                                                 {"STOP", SIGSTOP},
                                                                 {"TSTP", SIGTSTP},
                                                                 {"URG", SIGURG},
                                                                 {"WINCH", SIGWINCH}}};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Result<int> signal_number(const std::string& text) {
  int number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && at == text.data() + text.size() && number >= 1 && number <= 64) {
    return number;
  }
  std::string name = text;
  for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const auto& [known, value] : kNames) {
    if (name == known) return value;
  }
  return Error{
      ErrorKind::kInvalid, "bad_signal",
      fmt::format("'{}' is not a signal: give a name such as TERM or USR1, or a number", text), ""};
}

SignalWatch::SignalWatch(std::function<void(int)> heard) : heard_(std::move(heard)) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC);
  end_fd_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] {
    while (true) {
      std::array<pollfd, 2> fds = {{{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}}};
      if (poll(fds.data(), fds.size(), -1) < 0) continue;
      if (fds[1].revents != 0) return;
      signalfd_siginfo info{};
      if (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        heard_(static_cast<int>(info.ssi_signo));
      }
    }
  });
}

SignalWatch::~SignalWatch() {
  const std::uint64_t one = 1;
  while (write(end_fd_, &one, sizeof one) != static_cast<ssize_t>(sizeof one)) {
  }
  thread_.join();
  close(signal_fd_);
  close(end_fd_);
  const sigset_t set = watched();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace dove::cli
