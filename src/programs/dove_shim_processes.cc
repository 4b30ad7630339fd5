#include "programs/dove_shim_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace dove::shim {
namespace {

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t group;
  char state;
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
  std::strcat(std::strcat(path, name), "/stat");
  char text[512];
  if (!read_text(path, text, sizeof text)) return false;
  // "pid (any name) S parent group …": the name ends with the last parenthesis.
  char* at = std::strrchr(text, ')');
  if (at == nullptr || std::strlen(at) < 4) return false;
  process.pid = static_cast<pid_t>(std::strtol(name, nullptr, 10));
  process.state = at[2];
  process.parent = static_cast<pid_t>(std::strtol(at + 3, &at, 10));
  process.group = static_cast<pid_t>(std::strtol(at, &at, 10));
  return true;
}

struct Table {
  Process* items = nullptr;
  int count = 0;
  int room = 0;
};

bool read_table(Table& table) {
  DIR* const proc = ::opendir("/proc");
  if (proc == nullptr) return false;
  while (const dirent* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (table.count == table.room) {
      const int room = table.room == 0 ? 512 : table.room * 2;
      void* const grown =
          std::realloc(table.items, static_cast<std::size_t>(room) * sizeof(Process));
      if (grown == nullptr) break;
      table.items = static_cast<Process*>(grown);
      table.room = room;
    }
    if (read_process(entry->d_name, table.items[table.count])) ++table.count;
  }
  ::closedir(proc);
  return true;
}

int by_pid(const void* a, const void* b) {
  return static_cast<const Process*>(a)->pid - static_cast<const Process*>(b)->pid;
}

// Whether `process` is below `root`, by its chain of parents.
bool descends(const Table& table, const Process& process, pid_t root) {
  const Process* at = &process;
  for (int steps = 0; at != nullptr && steps < 10'000; ++steps) {
    if (at->parent == root) return true;
    const Process key{at->parent, 0, 0, 0};
    at = static_cast<const Process*>(std::bsearch(
        &key, table.items, static_cast<std::size_t>(table.count), sizeof(Process), by_pid));
  }
  return false;
}

}  // namespace

int signal_descendants(int signal, pid_t except_group) {
  Table table;
  if (!read_table(table)) return -1;
  std::qsort(table.items, static_cast<std::size_t>(table.count), sizeof(Process), by_pid);
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
  std::free(table.items);
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
  const char* const line = std::strstr(text, "oom_kill ");
  return line != nullptr && std::strtol(line + 9, nullptr, 10) > 0;
}

}  // namespace dove::shim
