#include "shim/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "shim/text.h"

namespace dove::shim {
namespace {

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t group;
  char state;
};

constexpr int kMostProcesses = 1 << 22;  // the kernel's own limit

// All processes, ascending by pid. Memory that is not touched costs nothing.
struct Table {
  Process* items = nullptr;
  int count = 0;

  bool reserve() {
    void* const room = ::mmap(nullptr, sizeof(Process) * kMostProcesses, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    items = room == MAP_FAILED ? nullptr : static_cast<Process*>(room);
    return items != nullptr;
  }
  ~Table() {
    if (items != nullptr) ::munmap(items, sizeof(Process) * kMostProcesses);
  }
  void insert(const Process& process) {
    int at = count++;
    for (; at > 0 && items[at - 1].pid > process.pid; --at) items[at] = items[at - 1];
    items[at] = process;
  }
  const Process* find(pid_t pid) const {
    int low = 0;
    int high = count;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (items[middle].pid < pid) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && items[low].pid == pid ? items + low : nullptr;
  }
};

// The start of a small file, as text.
bool read_text(const char* path, char* text, std::size_t size) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, size - 1);
  ::close(fd);
  if (got <= 0) return false;
  text[got] = '\0';
  return true;
}

bool read_process(const char* name, Process& process) {
  char path[64] = "/proc/";
  if (std::strlen(name) > 20) return false;
  char* end = path + std::strlen(path);
  for (const char* part : {name, "/stat"}) {
    while (*part != '\0') *end++ = *part++;
  }
  char text[512];
  if (!read_text(path, text, sizeof text)) return false;
  // "pid (any name) S parent group …": the name ends with the last parenthesis.
  const char* at = last_in(text, std::strlen(text), ')');
  if (at == nullptr || std::strlen(at) < 4) return false;
  process.pid = static_cast<pid_t>(number_of(name));
  process.state = at[2];
  at += 3;
  process.parent = static_cast<pid_t>(take_number(at));
  process.group = static_cast<pid_t>(take_number(at));
  return true;
}

bool read_table(Table& table) {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0 || !table.reserve()) {
    if (proc >= 0) ::close(proc);
    return false;
  }
  alignas(dirent) char some[8192];
  ssize_t got;
  while ((got = ::syscall(SYS_getdents64, proc, some, sizeof some)) > 0) {
    for (ssize_t at = 0; at < got && table.count < kMostProcesses;) {
      const dirent* const entry = reinterpret_cast<const dirent*>(some + at);
      at += entry->d_reclen;
      Process process;
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      if (read_process(entry->d_name, process)) table.insert(process);
    }
  }
  ::close(proc);
  return true;
}

// Whether `process` is below `root`, by its chain of parents.
bool descends(const Table& table, const Process& process, pid_t root) {
  const Process* at = &process;
  for (int steps = 0; at != nullptr && steps < 10'000; ++steps) {
    if (at->parent == root) return true;
    at = table.find(at->parent);
  }
  return false;
}

}  // namespace

int signal_descendants(int signal, pid_t except_group) {
  Table table;
  if (!read_table(table)) return -1;
  const pid_t self = ::getpid();
  int count = 0;
  for (int i = 0; i < table.count; ++i) {
    const Process& process = table.items[i];
    if (process.state == 'Z' || process.state == 'X' || !descends(table, process, self)) continue;
    ++count;
    if (except_group != 0 && process.group == except_group) continue;
    ::kill(process.pid, signal);
    if (signal == SIGTERM) ::kill(process.pid, SIGCONT);
  }
  return count;
}

void kill_cgroup(const char* path) {
  if (path == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // If it fails, the walk over the processes still ends them.
  if (::write(fd, "1", 1) != 1) {
  }
  ::close(fd);
}

bool counted_oom_kill(const char* path) {
  char text[1024];
  if (path == nullptr || !read_text(path, text, sizeof text)) return false;
  const char* const count = behind(text, "oom_kill ");
  return count != nullptr && number_of(count) > 0;
}

}  // namespace dove::shim
