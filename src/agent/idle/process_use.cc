#include "agent/idle/process_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "shim/format.h"

namespace dove::agent {
namespace {

constexpr std::size_t kEnvironmentBytesMax = 1 << 20;
constexpr int kAncestorsMax = 64;

struct Process {
  pid_t parent = 0;
  std::string mark;  // of its attempt; "": its environment names none
  std::int64_t ticks = 0;
  bool has_terminal = false;
};

std::string read_file(const std::string& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char some[16 * 1024];
  ssize_t got = 0;
  while (text.size() < most && (got = ::read(fd, some, sizeof some)) > 0) {
    text.append(some, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

std::optional<Process> read_process(const std::string& directory) {
  const std::string text = read_file(directory + "/stat", 4096);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  int parent = 0;
  int terminal = 0;
  long long user = 0;
  long long system = 0;
  long long children_user = 0;
  long long children_system = 0;
  const int read = std::sscanf(
      text.c_str() + name_end + 1, " %*c %d %*d %*d %d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
      &parent, &terminal, &user, &system, &children_user, &children_system);
  if (read != 6) return std::nullopt;
  return Process{parent, "", user + system + children_user + children_system, terminal != 0};
}

std::string mark_in(const std::string& environment, const std::vector<std::string>& marks) {
  const std::string prefix = std::string(shim::kMarkVariable) + "=";
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
    if (!variable.starts_with(prefix)) continue;
    const std::string_view mark = variable.substr(prefix.size());
    for (const std::string& each : marks) {
      if (!mark.starts_with(each)) continue;
      if (mark.size() == each.size() || mark[each.size()] == '.') return each;
    }
    return "";
  }
  return "";
}

std::string attempt_of(const std::map<pid_t, Process>& table, const Process& process) {
  const Process* at = &process;
  for (int i = 0; i < kAncestorsMax; ++i) {
    if (!at->mark.empty()) return at->mark;
    const auto parent = table.find(at->parent);
    if (parent == table.end()) return "";
    at = &parent->second;
  }
  return "";
}

}  // namespace

std::map<std::string, ProcessUse> read_process_use(const std::vector<std::string>& marks,
                                                   const std::string& proc) {
  std::map<std::string, ProcessUse> found;
  DIR* const entries = marks.empty() ? nullptr : ::opendir(proc.c_str());
  if (entries == nullptr) return found;
  std::map<pid_t, Process> table;
  while (const dirent* entry = ::readdir(entries)) {
    pid_t pid = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr != end || pid <= 1) continue;
    const std::string directory = proc + "/" + entry->d_name;
    std::optional<Process> process = read_process(directory);
    if (!process) continue;
    process->mark = mark_in(read_file(directory + "/environ", kEnvironmentBytesMax), marks);
    table.emplace(pid, std::move(*process));
  }
  ::closedir(entries);
  const std::int64_t tick_us = 1'000'000 / std::max(sysconf(_SC_CLK_TCK), 1L);
  for (const auto& [pid, process] : table) {
    const std::string mark = attempt_of(table, process);
    if (mark.empty()) continue;
    ProcessUse& use = found[mark];
    use.cpu_us += process.ticks * tick_us;
    if (process.has_terminal) use.terminal_us += process.ticks * tick_us;
  }
  return found;
}

}  // namespace dove::agent
