#include "contain/exec.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "contain/start.h"
#include "containers/place.h"

namespace dove::contain {
namespace {

constexpr int kLeftoverGrace_s = 1;

// Its children: the program, and orphans among what the program started. False: this kernel does
// not say which they are.
bool signal_children(int number) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", ::getpid());
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  for (int pid = 0; std::fscanf(file, "%d", &pid) == 1;) {
    ::kill(pid, number);
    if (number == SIGTERM) ::kill(pid, SIGCONT);
  }
  std::fclose(file);
  return true;
}

int wait_for(pid_t program) {
  sigset_t all;
  ::sigfillset(&all);
  bool over = false;
  bool kills = false;
  int result = 0;
  for (;;) {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == program) {
        over = true;
        result = status;
        if (!signal_children(SIGTERM)) return status;
      } else if (kills) {
        signal_children(SIGKILL);  // what it leaves behind in turn
      }
    }
    if (pid < 0) return result;  // nothing is left
    const timespec wait{over ? kLeftoverGrace_s : 3600, 0};
    const int number = ::sigtimedwait(&all, nullptr, &wait);
    if (number > 0 && number != SIGCHLD && !over) ::kill(-program, number);
    if (number < 0 && errno == EAGAIN && over) {
      kills = true;
      signal_children(SIGKILL);
    }
  }
}

}  // namespace

int run_exec(char** argv, bool terminal) {
  hide();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t program = start(argv, terminal);
  if (program < 0) {
    tell(containers::kTellFailed, errno);
    return 127;
  }
  tell(containers::kTellRunning, 0);
  const int status = wait_for(program);
  tell(containers::kTellEnded, status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace dove::contain
