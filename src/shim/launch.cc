#include "shim/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "containers/place.h"
#include "shim/format.h"
#include "shim/text.h"

namespace dove::shim {
namespace {

bool fail(Failure& failure, const char* doing, const char* what) {
  failure = Failure{errno, doing, what};
  return false;
}

// Opening must not wait for the other end of a FIFO; the task's own reads and writes may.
int open_without_waiting(const char* path, int flags) {
  const int fd = ::open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

constexpr int kHoldFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

struct Child {
  const Config& config;
  const Streams& streams;
  pid_t shim;
  Failure failure;
};

bool join_cgroups(Child& child) {
  for (const char* path : child.config.cgroup_procs) {
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ::write(fd, "0", 1) != 1) return fail(child.failure, "join the cgroup", path);
    ::close(fd);
  }
  return true;
}

bool set_limits(Child& child) {
  bool core = false;
  for (const Rlimit& limit : child.config.rlimits) {
    const rlimit value{static_cast<rlim_t>(limit.soft), static_cast<rlim_t>(limit.hard)};
    core = core || limit.resource == RLIMIT_CORE;
    // As a system call: C libraries differ in the type of the first argument.
    if (::syscall(SYS_setrlimit, limit.resource, &value) != 0) {
      return fail(child.failure, "set a resource limit of", child.config.argv.items[0]);
    }
  }
  const rlimit none{0, 0};
  if (!core) ::setrlimit(RLIMIT_CORE, &none);
  if (child.config.cpus.count == 0) return true;
  int most = 0;
  for (const int cpu : child.config.cpus) most = cpu > most ? cpu : most;
  cpu_set_t* const set = CPU_ALLOC(most + 1);
  const std::size_t size = CPU_ALLOC_SIZE(most + 1);
  if (set == nullptr) return fail(child.failure, "bind to its cpus", child.config.argv.items[0]);
  CPU_ZERO_S(size, set);
  for (const int cpu : child.config.cpus) {
    if (cpu >= 0) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  }
  if (::sched_setaffinity(0, size, set) != 0) {
    return fail(child.failure, "bind to its cpus", child.config.argv.items[0]);
  }
  return true;
}

// Plain system calls: the memory is the shim's, whose user must not change.
bool become_user(Child& child) {
  const Config& config = child.config;
  // In a container the runtime does, once it has made one.
  if (config.pid_file != nullptr) return true;
  if (!config.change_user || (config.uid == ::geteuid() && config.uid != 0)) return true;
  if (::syscall(SYS_setgroups, static_cast<std::size_t>(config.groups.count),
                config.groups.items) != 0 ||
      ::syscall(SYS_setresgid, config.gid, config.gid, config.gid) != 0 ||
      ::syscall(SYS_setresuid, config.uid, config.uid, config.uid) != 0) {
    return fail(child.failure, "become the user of", config.argv.items[0]);
  }
  return true;
}

const char* path_variable(const Config& config) {
  for (const char* variable : config.environment) {
    if (std::strncmp(variable, "PATH=", 5) == 0) return variable + 5;
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

// Returns only if nothing could be executed.
void execute(Child& child) {
  const Config& config = child.config;
  const char* const name = config.argv.items[0];
  if (*end_at(name, '/') == '/') {
    ::execve(name, config.argv.items, config.environment.items);
    fail(child.failure, "execute", name);
    return;
  }
  int worst = ENOENT;
  for (const char* at = path_variable(config); *at != '\0';) {
    const char* const end = end_at(at, ':');
    char full[4096];
    const std::size_t length = static_cast<std::size_t>(end - at);
    if (length > 0 && length + std::strlen(name) + 2 <= sizeof full) {
      std::memcpy(full, at, length);
      full[length] = '/';
      std::strcpy(full + length + 1, name);
      ::execve(full, config.argv.items, config.environment.items);
      if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    }
    at = *end == ':' ? end + 1 : end;
  }
  errno = worst;
  fail(child.failure, "execute", name);
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int number : {SIGHUP, SIGINT, SIGPIPE}) ::sigaction(number, &action, nullptr);
}

// The task's own process id, where its environment names it.
void name_pid(const Config& config) {
  static char entry[sizeof agent::shim::kPidVariable + 24];
  const std::size_t length = sizeof agent::shim::kPidVariable - 1;
  for (char*& variable : config.environment) {
    if (std::strncmp(variable, agent::shim::kPidVariable, length) != 0 || variable[length] != '=') {
      continue;
    }
    std::memcpy(entry, variable, length + 1);
    char digits[16];
    int count = 0;
    for (int rest = ::getpid(); rest > 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    char* at = entry + length + 1;
    while (count > 0) *at++ = digits[--count];
    *at = '\0';
    variable = entry;
  }
}

// Runs in the shim's memory while the shim waits, until it executes or ends.
int child_main(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  const Streams& streams = child.streams;
  ::setsid();
  name_pid(child.config);
  if (!join_cgroups(child) || !set_limits(child)) return 1;
  if (::dup2(streams.in, 0) < 0 || ::dup2(streams.out, 1) < 0 || ::dup2(streams.err, 2) < 0) {
    fail(child.failure, "hand over the files of", child.config.argv.items[0]);
    return 1;
  }
  // In a container its own first process takes the terminal (dove-contain exec).
  if (child.config.terminal != nullptr && child.config.pid_file == nullptr &&
      ::syscall(SYS_ioctl, 0, TIOCSCTTY, 0) != 0) {
    fail(child.failure, "take the terminal", child.config.terminal);
    return 1;
  }
  if (streams.tell >= 0 && ::dup2(streams.tell, containers::kTellFd) < 0) {
    fail(child.failure, "listen to", child.config.program);
    return 1;
  }
  if (!become_user(child)) return 1;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // After the change of user, which clears it; before the check, or the shim's end is missed.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != child.shim) return 1;
  if (::fchdir(streams.cwd) != 0) {
    fail(child.failure, "enter the working directory", child.config.cwd);
    return 1;
  }
  default_signals();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  execute(child);
  return 1;
}

// Another shim may be making it too, so all is done whoever made it.
bool make_output_dir(const Config& config) {
  if (::mkdir(config.output_dir, 0700) != 0 && errno != EEXIST) return false;
  return ::chmod(config.output_dir, 0700) == 0 &&
         (!config.change_user || ::chown(config.output_dir, config.uid, config.gid) == 0);
}

// The directories on the way to the file, by the rights of the task's user alone: links lead
// nowhere where that user could not make them without us. False: errno says why not.
bool make_directories_to(const char* path) {
  static char part[4096];
  for (std::size_t i = 0; path[i] != '\0'; ++i) {
    if (i + 1 == sizeof part) {
      errno = ENAMETOOLONG;
      return false;
    }
    part[i] = path[i];
    if (i == 0 || path[i] != '/') continue;
    part[i] = '\0';
    if (::mkdir(part, 0777) != 0 && errno != EEXIST) return false;
    part[i] = '/';
  }
  return true;
}

alignas(16) char child_stack[256 * 1024];

}  // namespace

AsTaskUser::AsTaskUser(const Config& config)
    : changed_(config.change_user && config.uid != ::geteuid()) {
  if (!changed_) return;
  // Root needs no groups of its own, so those of the task's user stay.
  ::syscall(SYS_setgroups, static_cast<std::size_t>(config.groups.count), config.groups.items);
  ::setfsgid(config.gid);
  ::setfsuid(config.uid);
}

AsTaskUser::~AsTaskUser() {
  if (!changed_) return;
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
}

bool in_output_dir(const Config& config, const char* path) {
  if (config.output_dir == nullptr) return false;
  const std::size_t length = std::strlen(config.output_dir);
  return std::strncmp(path, config.output_dir, length) == 0 && path[length] == '/';
}

int open_output(const Config& config, const char* path, bool truncate) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | (truncate ? O_TRUNC : 0);
  for (bool again = true;; again = false) {
    {
      const AsTaskUser as_user(config);
      const int fd = open_without_waiting(path, flags);
      if (fd >= 0 || !again || (errno != ENOENT && errno != EACCES)) return fd;
      if (!in_output_dir(config, path)) {
        if (errno != ENOENT || !make_directories_to(path)) return -1;
        continue;
      }
    }
    const int reason = errno;
    if (!make_output_dir(config)) {
      errno = reason;
      return -1;
    }
  }
}

bool prepare(const Config& config, Streams& streams, Failure& failure) {
  ::umask(config.umask);
  if (config.change_user && config.uid != ::geteuid() && ::geteuid() != 0) {
    errno = EPERM;
    return fail(failure, "become another user without being root, for", config.argv.items[0]);
  }
  {
    const AsTaskUser as_user(config);
    streams.cwd = ::open(config.cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (streams.cwd < 0) return fail(failure, "enter the working directory", config.cwd);
    if (config.terminal != nullptr) {
      streams.in = open_without_waiting(config.terminal, O_RDWR);
      streams.out = streams.err = streams.in;
      return streams.in >= 0 || fail(failure, "open the terminal", config.terminal);
    }
    if (config.stdin_path != nullptr) {
      streams.in = open_without_waiting(config.stdin_path, O_RDONLY);
      if (streams.in < 0) return fail(failure, "open the input file", config.stdin_path);
      if (config.holds_input) streams.held_in = ::open(config.stdin_path, kHoldFlags);
    }
  }
  if (config.rotate_bytes > 0) return true;
  if (config.stdout_path != nullptr) {
    streams.out = open_output(config, config.stdout_path, !config.append);
    if (streams.out < 0) return fail(failure, "open the output file", config.stdout_path);
  }
  if (config.stderr_path == nullptr) return true;
  if (config.stdout_path != nullptr && std::strcmp(config.stdout_path, config.stderr_path) == 0) {
    streams.err = streams.out;
    return true;
  }
  streams.err = open_output(config, config.stderr_path, !config.append);
  if (streams.err < 0) return fail(failure, "open the error file", config.stderr_path);
  return true;
}

pid_t start(const Config& config, const Streams& streams, Failure& failure) {
  Child child{config, streams, ::getpid(), {}};
  // As vfork, on a stack of its own: the shim sleeps until the task executes, and reads from its
  // own memory why it did not.
  const pid_t pid = ::clone(child_main, child_stack + sizeof child_stack,
                            CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  if (pid < 0) {
    fail(failure, "make a process for", config.argv.items[0]);
    return -1;
  }
  if (child.failure.number != 0) {
    failure = child.failure;
    ::waitpid(pid, nullptr, 0);
    return -1;
  }
  return pid;
}

}  // namespace dove::shim
