// What dove-shim needs of a C library, when it stands without one (DOVE_ALONE, x86-64).
//
// A static program of glibc spends most of its start asking the processor what it can do; under a
// hypervisor that is several times the cost of the shim's own work, for every task. So here are
// the few functions that the shim calls, straight to the kernel, and a start that calls main().
// Elsewhere, and under sanitizers, the shim is linked as usual and this file is empty. A function
// that is missing here is an error of the linker.
#ifdef DOVE_ALONE

#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")  // or memset would call itself
#endif

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#ifndef __x86_64__
#error "DOVE_ALONE is for x86-64 only"
#endif

namespace {

int last_error = 0;
constexpr long kSignalSetBytes = 8;  // the kernel's, not glibc's

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

// An address, as the kernel takes it.
template <class T>
long to(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

// As the C library's functions: -1 and errno.
template <class T = int>
T checked(long result) {
  if (result >= 0) return static_cast<T>(result);
  last_error = static_cast<int>(-result);
  return static_cast<T>(-1);
}

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

}  // namespace

extern "C" {

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov (%rsp), %edi\n"
    "  lea 8(%rsp), %rsi\n"
    "  and $-16, %rsp\n"
    "  call main\n"
    "  mov %eax, %edi\n"
    "  mov $231, %eax\n"  // exit_group
    "  syscall\n"
    "dove_raw_clone:\n"  // (function, stack, flags, argument)
    "  sub $16, %rsi\n"
    "  mov %rdi, (%rsi)\n"
    "  mov %rcx, 8(%rsi)\n"
    "  mov %rdx, %rdi\n"
    "  xor %edx, %edx\n"
    "  xor %r10d, %r10d\n"
    "  xor %r8d, %r8d\n"
    "  mov $56, %eax\n"  // clone
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 1f\n"
    "  xor %ebp, %ebp\n"
    "  pop %rax\n"
    "  pop %rdi\n"
    "  call *%rax\n"
    "  mov %eax, %edi\n"
    "  mov $60, %eax\n"  // exit
    "  syscall\n"
    "1: ret\n");
long dove_raw_clone(int (*function)(void*), void* stack, long flags, void* argument);

int* __errno_location() noexcept { return &last_error; }

// -- memory and text

void* memcpy(void* to, const void* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  }
  return to;
}

void* memset(void* at, int value, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) static_cast<char*>(at)[i] = static_cast<char>(value);
  return at;
}

std::size_t strlen(const char* text) noexcept {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

int strncmp(const char* a, const char* b, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return static_cast<unsigned char>(a[i]) - static_cast<unsigned char>(b[i]);
    if (a[i] == '\0') break;
  }
  return 0;
}

int strcmp(const char* a, const char* b) noexcept { return strncmp(a, b, SIZE_MAX); }

char* strcpy(char* to, const char* from) noexcept {
  memcpy(to, from, strlen(from) + 1);
  return to;
}

// Room for what is never given back.
void* malloc(std::size_t count) noexcept {
  static char room[64 * 1024];
  static std::size_t used = 0;
  count = (count + 15) & ~std::size_t{15};
  if (count <= sizeof room - used) {
    used += count;
    return room + used - count;
  }
  void* const more =
      mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return more == MAP_FAILED ? nullptr : more;
}

void* calloc(std::size_t items, std::size_t size) noexcept { return malloc(items * size); }

cpu_set_t* __sched_cpualloc(std::size_t count) noexcept {
  return static_cast<cpu_set_t*>(malloc(CPU_ALLOC_SIZE(count)));
}

void* mmap(void* at, std::size_t count, int access, int flags, int fd, off_t offset) noexcept {
  const long result = call(SYS_mmap, to(at), static_cast<long>(count), access, flags, fd, offset);
  if (result < 0 && result > -4096) {
    last_error = static_cast<int>(-result);
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(result);
}

int munmap(void* at, std::size_t count) noexcept {
  return checked(call(SYS_munmap, to(at), static_cast<long>(count)));
}

// -- files

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const long mode = (flags & O_CREAT) != 0 ? static_cast<long>(va_arg(more, unsigned)) : 0;
  va_end(more);
  return checked(call(SYS_open, to(path), flags, mode));
}

int fcntl(int fd, int command, ...) {
  std::va_list more;
  va_start(more, command);
  const long argument = va_arg(more, long);
  va_end(more);
  return checked(call(SYS_fcntl, fd, command, argument));
}

ssize_t read(int fd, void* to_, std::size_t count) {
  return checked<ssize_t>(call(SYS_read, fd, to(to_), static_cast<long>(count)));
}
ssize_t write(int fd, const void* from, std::size_t count) {
  return checked<ssize_t>(call(SYS_write, fd, to(from), static_cast<long>(count)));
}
ssize_t pread(int fd, void* to_, std::size_t count, off_t at) {
  return checked<ssize_t>(call(SYS_pread64, fd, to(to_), static_cast<long>(count), at));
}
ssize_t pwrite(int fd, const void* from, std::size_t count, off_t at) {
  return checked<ssize_t>(call(SYS_pwrite64, fd, to(from), static_cast<long>(count), at));
}
ssize_t getdents64(int fd, void* to_, std::size_t count) noexcept {
  return checked<ssize_t>(call(SYS_getdents64, fd, to(to_), static_cast<long>(count)));
}
int close(int fd) { return checked(call(SYS_close, fd)); }
int close_range(unsigned first, unsigned last, int flags) noexcept {
  return checked(call(SYS_close_range, first, last, flags));
}
int dup2(int from, int to_) noexcept { return checked(call(SYS_dup2, from, to_)); }
int pipe2(int* ends, int flags) noexcept { return checked(call(SYS_pipe2, to(ends), flags)); }
int fstat(int fd, struct stat* facts) noexcept { return checked(call(SYS_fstat, fd, to(facts))); }
int ftruncate(int fd, off_t size) noexcept { return checked(call(SYS_ftruncate, fd, size)); }
int rename(const char* from, const char* to_) noexcept {
  return checked(call(SYS_rename, to(from), to(to_)));
}
int chdir(const char* path) noexcept { return checked(call(SYS_chdir, to(path))); }
int fchdir(int fd) noexcept { return checked(call(SYS_fchdir, fd)); }
int mkdir(const char* path, mode_t mode) noexcept {
  return checked(call(SYS_mkdir, to(path), mode));
}
int chmod(const char* path, mode_t mode) noexcept {
  return checked(call(SYS_chmod, to(path), mode));
}
int chown(const char* path, uid_t uid, gid_t gid) noexcept {
  return checked(call(SYS_chown, to(path), uid, gid));
}
mode_t umask(mode_t mask) noexcept { return checked<mode_t>(call(SYS_umask, mask)); }
int poll(pollfd* what, nfds_t count, int timeout_ms) {
  return checked(call(SYS_poll, to(what), static_cast<long>(count), timeout_ms));
}

// -- time and signals

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  return checked(call(SYS_clock_gettime, clock, to(now)));
}
int timerfd_create(clockid_t clock, int flags) noexcept {
  return checked(call(SYS_timerfd_create, clock, flags));
}
int timerfd_settime(int fd, int flags, const itimerspec* when, itimerspec* before) noexcept {
  return checked(call(SYS_timerfd_settime, fd, flags, to(when), to(before)));
}
int sigemptyset(sigset_t* set) noexcept {
  memset(set, 0, sizeof *set);
  return 0;
}
int sigfillset(sigset_t* set) noexcept {
  memset(set, 0xff, sizeof *set);
  return 0;
}
int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return checked(call(SYS_rt_sigprocmask, how, to(set), to(before), kSignalSetBytes));
}
int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  return checked(call(SYS_signalfd4, fd, to(set), kSignalSetBytes, flags));
}
int sigaction(int number, const struct sigaction* action, struct sigaction*) noexcept {
  // Only for the default and for ignoring: nothing ever returns from a handler.
  const KernelAction kernel{action->sa_handler, 0, nullptr, 0};
  return checked(call(SYS_rt_sigaction, number, to(&kernel), 0, kSignalSetBytes));
}
int kill(pid_t pid, int number) noexcept { return checked(call(SYS_kill, pid, number)); }

// -- processes

pid_t getpid() noexcept { return static_cast<pid_t>(call(SYS_getpid)); }
pid_t getppid() noexcept { return static_cast<pid_t>(call(SYS_getppid)); }
pid_t setsid() noexcept { return checked<pid_t>(call(SYS_setsid)); }
uid_t geteuid() noexcept { return static_cast<uid_t>(call(SYS_geteuid)); }
gid_t getegid() noexcept { return static_cast<gid_t>(call(SYS_getegid)); }
int setfsuid(uid_t uid) noexcept { return static_cast<int>(call(SYS_setfsuid, uid)); }
int setfsgid(gid_t gid) noexcept { return static_cast<int>(call(SYS_setfsgid, gid)); }

// setgroups, setresgid and setresuid, which take no more.
long syscall(long number, ...) noexcept {
  std::va_list more;
  va_start(more, number);
  const long a = va_arg(more, long);
  const long b = va_arg(more, long);
  const long c = va_arg(more, long);
  va_end(more);
  return checked<long>(call(number, a, b, c));
}

int prctl(int option, ...) noexcept {
  std::va_list more;
  va_start(more, option);
  const long argument = va_arg(more, long);
  va_end(more);
  return checked(call(SYS_prctl, option, argument, 0, 0, 0));
}

int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) noexcept {
  return checked(dove_raw_clone(function, stack, flags, argument));
}
int execve(const char* path, char* const* argv, char* const* environment) noexcept {
  return checked(call(SYS_execve, to(path), to(argv), to(environment)));
}
pid_t waitpid(pid_t pid, int* status, int options) {
  return checked<pid_t>(call(SYS_wait4, pid, to(status), options, 0));
}
int getrusage(int who, rusage* usage) noexcept {
  return checked(call(SYS_getrusage, who, to(usage)));
}
int setrlimit(int resource, const rlimit* limit) noexcept {
  return checked(call(SYS_setrlimit, resource, to(limit)));
}
int sched_setaffinity(pid_t pid, std::size_t size, const cpu_set_t* set) noexcept {
  return checked(call(SYS_sched_setaffinity, pid, static_cast<long>(size), to(set)));
}

}  // extern "C"

#endif  // DOVE_ALONE
