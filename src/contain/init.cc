#include "contain/init.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <ctime>

#include "contain/relay.h"
#include "contain/start.h"
#include "containers/place.h"

namespace dove::contain {
namespace {

constexpr int kLeftoverGrace_s = 1;

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
  hide();
  const pid_t relay = start_relay(ports);
  const pid_t program = start(argv, /*terminal=*/false);
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
