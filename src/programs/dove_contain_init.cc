#include "programs/dove_contain_init.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "containers/place.h"
#include "programs/dove_contain_relay.h"

namespace dove::contain {
namespace {

using containers::Tell;

constexpr int kLeftoverGrace_s = 1;

void tell(std::int32_t kind, std::int32_t value) {
  const Tell said{kind, value};
  // Without a listener it is only not told.
  if (::write(containers::kTellFd, &said, sizeof said) < 0) {
  }
}

// Its pid once it executes; else -1 and errno.
pid_t start(char** argv) {
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    for (int number = 1; number < SIGRTMAX; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(argv[0], argv);
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

// Collects until nothing is left, or until `left_at` has passed; the program's status.
class Init {
 public:
  Init(pid_t program, pid_t relay) : program_(program), relay_(relay) {}

  int run() {
    sigset_t all;
    ::sigfillset(&all);
    while (collect()) {
      siginfo_t info{};
      const timespec wait{over_ ? kLeftoverGrace_s : 3600, 0};
      const int number = ::sigtimedwait(&all, &info, &wait);
      if (number > 0 && number != SIGCHLD) pass_on(number);
      if (number < 0 && errno == EAGAIN && over_) break;  // process 1 ends, and all with it
    }
    return status_;
  }

 private:
  // False: there is nothing to collect any more.
  bool collect() {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != program_) continue;
      over_ = true;
      status_ = status;
      if (relay_ > 0) ::kill(relay_, SIGKILL);
      ::kill(-1, SIGTERM);
      ::kill(-1, SIGCONT);
    }
    return pid == 0;
  }
  void pass_on(int number) const {
    if (number == SIGTERM) {
      ::kill(-1, SIGTERM);
      ::kill(-1, SIGCONT);
    } else if (!over_) {
      ::kill(-program_, number);
    }
  }

  const pid_t program_;
  const pid_t relay_;  // <= 0: there is none
  bool over_ = false;
  int status_ = 0;
};

}  // namespace

int run_init(const char* ports, char** argv) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::fcntl(containers::kTellFd, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // its descriptor is not the program's
  const pid_t relay = start_relay(ports);
  const pid_t program = start(argv);
  if (program < 0) {
    tell(containers::kTellFailed, errno);
    return 127;
  }
  tell(containers::kTellRunning, 0);
  const int status = Init(program, relay).run();
  tell(containers::kTellEnded, status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace dove::contain
