#include "contain/start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "containers/place.h"

namespace dove::contain {
namespace {

constexpr std::size_t kSecretsBytesMax = std::size_t{4} << 20;

// Puts the values of secrets into the environment of what is executed next. False: errno says why
// not.
bool take_secrets() {
  const int fd = ::open(containers::kSecrets, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while (text.size() < kSecretsBytesMax && (got = ::read(fd, piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  ::close(fd);
  if (got < 0) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string variable = text.substr(at, text.find('\0', at) - at);
    at += variable.size() + 1;
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = variable.substr(0, equals);
    if (::setenv(name.c_str(), variable.c_str() + equals + 1, 1) != 0) return false;
  }
  return true;
}

}  // namespace

void hide() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::fcntl(containers::kTellFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // its descriptor is not the program's
}

void tell(std::int32_t kind, std::int32_t value) {
  const containers::Tell said{kind, value};
  // Without a listener it is only not told.
  if (::write(containers::kTellFd, &said, sizeof said) < 0) {
  }
}

pid_t start(char** argv, bool terminal) {
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    if (terminal) ::ioctl(0, TIOCSCTTY, 0);  // without it there is no job control, and no more
    for (int number = 1; number < SIGRTMAX; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (take_secrets()) ::execvp(argv[0], argv);
    const int reason = errno;
    if (::write(failed[1], &reason, sizeof reason) < 0) ::_exit(126);
    ::_exit(127);
  }
  ::close(failed[1]);
  int reason = 0;
  const bool executed = pid > 0 && ::read(failed[0], &reason, sizeof reason) <= 0;
  ::close(failed[0]);
  if (executed) return pid;
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
    errno = reason;
  }
  return -1;
}

}  // namespace dove::contain
