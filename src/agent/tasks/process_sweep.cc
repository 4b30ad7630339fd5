#include "agent/tasks/process_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "shim/format.h"

namespace dove::agent {
namespace {

constexpr std::size_t kMostEnvironmentBytes = 4 << 20;
constexpr unsigned kKernelThread = 0x0020'0000;  // PF_KTHREAD
// A process that may be executing something is looked at again this many times, and no longer than
// that: one may pretend to for ever. A look at a sleeping process counts more, because execve(2)
// hardly sleeps.
constexpr int kLooksAtExecuting = 5;
constexpr int kWorthOfALookAtSleep = 3;
constexpr std::chrono::milliseconds kExecutingMax{200};

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = 'X';
  bool marked = false;
  bool bare = false;  // shows no environment: it has none, or is in the middle of execve(2)
};

enum class Mark { kNone, kOurs, kUnknown };

std::optional<std::string> read_proc_file(pid_t pid, const char* name, std::size_t most) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char some[16 * 1024];
  ssize_t got = 0;
  while (text.size() < most && (got = ::read(fd, some, sizeof some)) > 0) {
    text.append(some, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

// Nothing: it is gone, or dead and only not yet waited for.
std::optional<Process> read_process(pid_t pid) {
  const std::optional<std::string> text = read_proc_file(pid, "stat", 4096);
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  char state = 'X';
  int parent = 0;
  int group = 0;
  int session = 0;
  unsigned flags = 0;
  if (std::sscanf(text->c_str() + name_end + 1, " %c %d %d %d %*d %*d %u", &state, &parent, &group,
                  &session, &flags) != 5 ||
      state == 'Z' || state == 'X' || (flags & kKernelThread) != 0) {
    return std::nullopt;
  }
  return Process{pid, parent, session, state};
}

Mark mark_of(pid_t pid, const std::set<std::string>& marks) {
  const std::optional<std::string> text = read_proc_file(pid, "environ", kMostEnvironmentBytes);
  // For an instant of execve(2) the file cannot be opened either: ESRCH, as if the process were
  // gone.
  if (!text) return errno == ESRCH ? Mark::kUnknown : Mark::kNone;
  // Its arguments tell nothing: execve(2) shows the new ones first, and then counts the variables.
  if (text->empty()) return Mark::kUnknown;
  const std::string prefix = std::string(shim::kMarkVariable) + "=";
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
    if (variable.starts_with(prefix)) {
      const bool ours = marks.contains(std::string(variable.substr(prefix.size())));
      return ours ? Mark::kOurs : Mark::kNone;
    }
  }
  return Mark::kNone;
}

using Table = std::map<pid_t, Process>;

std::optional<Table> read_table(const std::set<std::string>& marks) {
  DIR* const proc = ::opendir("/proc");
  if (proc == nullptr) return std::nullopt;
  Table table;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr != end || pid <= 1 || pid == self) continue;
    std::optional<Process> process = read_process(pid);
    if (!process) continue;
    const Mark mark = mark_of(pid, marks);
    process->marked = mark == Mark::kOurs;
    process->bare = mark == Mark::kUnknown;
    table.emplace(pid, *process);
  }
  ::closedir(proc);
  return table;
}

// All that belong: the marked, their sessions, and what is below them.
std::set<pid_t> members(const Table& table, const std::vector<SweepTarget>& targets) {
  std::set<pid_t> sessions;
  for (const SweepTarget& target : targets) {
    // A living unmarked leader means that the number was given to a stranger: while the task's
    // session has members, no other process can get it.
    const auto leader = table.find(target.session);
    if (target.session > 1 && (leader == table.end() || leader->second.marked)) {
      sessions.insert(target.session);
    }
  }
  for (const auto& [pid, process] : table) {
    // A marked leader's whole session; sessions led by others may be strangers'.
    if (process.marked && process.session == pid) sessions.insert(pid);
  }
  std::set<pid_t> found;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [pid, process] : table) {
      if (process.marked || sessions.contains(process.session) || found.contains(process.parent)) {
        more = found.insert(pid).second || more;
      }
    }
  }
  return found;
}

// Nanoseconds on a CPU; -1: the system does not say.
std::int64_t cpu_ns(pid_t pid) {
  const std::optional<std::string> text = read_proc_file(pid, "schedstat", 256);
  std::int64_t ns = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), ns);
  return ns;
}

// Those that show no environment, as in the middle of execve(2).
class Executing {
 public:
  // Whether one of them may still turn out to be marked. A look at one that has not been on a CPU
  // since the last look says nothing: on a busy machine it has had no chance to get on.
  bool may_be_marked(const Table& table) {
    bool may = false;
    for (const auto& [pid, process] : table) {
      if (!process.bare) continue;
      Look& look = looks_[pid];
      const std::int64_t now_ns = cpu_ns(pid);
      if (process.state == 'S') {
        look.times += kWorthOfALookAtSleep;
      } else if (now_ns < 0 || now_ns != look.cpu_ns) {
        ++look.times;
      }
      look.cpu_ns = now_ns;
      may = may || look.times <= kLooksAtExecuting;
    }
    return may && std::chrono::steady_clock::now() < until_;
  }

 private:
  struct Look {
    std::int64_t cpu_ns = -1;
    int times = 0;
  };
  std::map<pid_t, Look> looks_;
  const std::chrono::steady_clock::time_point until_ =
      std::chrono::steady_clock::now() + kExecutingMax;
};

}  // namespace

std::vector<pid_t> processes_of(const std::vector<std::string>& marks) {
  const std::optional<Table> table = read_table({marks.begin(), marks.end()});
  if (!table) return {};
  const std::set<pid_t> found = members(*table, {});
  return {found.begin(), found.end()};
}

SweepResult sweep(const std::vector<SweepTarget>& targets, std::chrono::milliseconds limit) {
  std::set<std::string> marks;
  for (const SweepTarget& target : targets) {
    if (!target.mark.empty()) marks.insert(target.mark);
  }
  SweepResult result;
  std::set<pid_t> counted;
  Executing executing;
  const auto until = std::chrono::steady_clock::now() + limit;
  for (int wait_ms = 1;; wait_ms = std::min(wait_ms * 2, 100)) {
    const std::optional<Table> table = read_table(marks);
    if (!table) return {result.found, false};
    const std::set<pid_t> found = members(*table, targets);
    if (!executing.may_be_marked(*table) && found.empty()) return result;
    for (const pid_t pid : found) {
      ::kill(pid, SIGKILL);
      if (counted.insert(pid).second) ++result.found;
    }
    if (!found.empty() && std::chrono::steady_clock::now() >= until) {
      result.clean = false;
      return result;
    }
    ::poll(nullptr, 0, wait_ms);
  }
}

SweepResult sweep(const std::string& mark) {
  return sweep({SweepTarget{mark, 0}}, std::chrono::milliseconds(500));
}

}  // namespace dove::agent
