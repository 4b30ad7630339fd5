#include "shim/container.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "containers/place.h"
#include "shim/text.h"

namespace dove::shim {
namespace {

pid_t pid_in(const char* path) {
  char text[32];
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  return static_cast<pid_t>(number_of(text));
}

}  // namespace

bool Container::open(int& tell, Failure& failure) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    failure = Failure{errno, "make a pipe for", "the container"};
    return false;
  }
  hear_ = ends[0];
  tell = ends[1];
  ::fcntl(hear_, F_SETFL, O_NONBLOCK);
  return true;
}

void Container::launched(pid_t launcher, int& tell) {
  launcher_ = launcher;
  ::close(tell);
  tell = -1;
}

void Container::hear() {
  containers::Tell said;
  ssize_t got = 0;
  while (hear_ >= 0 && (got = ::read(hear_, &said, sizeof said)) == sizeof said) {
    if (said.kind == containers::kTellRunning) running_ = true;
    if (said.kind == containers::kTellFailed) failed_errno_ = said.value;
    if (said.kind == containers::kTellEnded) {
      told_end_ = true;
      status_ = said.value;
    }
  }
  if (got != 0 || hear_ < 0) return;
  ::close(hear_);  // nobody will tell anything any more
  hear_ = -1;
}

bool Container::reap_launcher(const Config& config, pid_t& pid, Failure& failure) {
  int status = 0;
  if (::waitpid(launcher_, &status, WNOHANG) != launcher_) return false;
  launcher_ = 0;
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  launch_user_us_ = microseconds(usage.ru_utime);
  launch_system_us_ = microseconds(usage.ru_stime);
  const pid_t first = status == 0 ? pid_in(config.pid_file) : 0;
  if (first > 0) {
    pid = first;
  } else {
    failure = Failure{EIO, "make the container of", config.program};
  }
  return true;
}

void Container::settle(const Config& config, int& status, Failure& failure) const {
  if (failed_errno_ != 0) failure = Failure{failed_errno_, "execute", config.program};
  if (told_end_) status = status_;
}

}  // namespace dove::shim
