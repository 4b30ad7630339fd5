#include "agent/forward/task_port.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "agent/tasks/process_sweep.h"

namespace dove::agent {
namespace {

constexpr std::size_t kTableBytesMax = 16 << 20;  // listening sockets come first in it
constexpr std::size_t kFilesMax = 200'000;        // of all processes of a task
constexpr std::size_t kPortsNamed = 16;

std::uint64_t inode_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

std::uint64_t network_of(pid_t pid) { return inode_of(fmt::format("/proc/{}/ns/net", pid)); }

std::string read_table(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char some[64 * 1024];
  ssize_t got = 0;
  while (text.size() < kTableBytesMax && (got = ::read(fd, some, sizeof some)) > 0) {
    text.append(some, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

std::vector<Listener> listeners_seen_by(pid_t pid) {
  std::vector<Listener> all =
      read_listeners(read_table(fmt::format("/proc/{}/net/tcp", pid)), false);
  const std::vector<Listener> v6 =
      read_listeners(read_table(fmt::format("/proc/{}/net/tcp6", pid)), true);
  all.insert(all.end(), v6.begin(), v6.end());
  return all;
}

// Adds the sockets that the process has open; false: that were too many.
bool add_sockets(pid_t pid, std::size_t& files, std::set<std::uint64_t>& sockets) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return true;
  while (const dirent* entry = ::readdir(open)) {
    char link[64];
    const ssize_t size = ::readlinkat(::dirfd(open), entry->d_name, link, sizeof link);
    if (size <= 0) continue;
    if (++files > kFilesMax) break;
    const std::uint64_t inode = socket_inode({link, static_cast<std::size_t>(size)});
    if (inode != 0) sockets.insert(inode);
  }
  ::closedir(open);
  return files <= kFilesMax;
}

struct Process {
  pid_t pid = 0;
  std::string begun;  // tells it from another of the same number
  std::uint64_t network = 0;
  std::set<std::uint64_t> sockets;
};

// Field 22 of its stat; "": it is gone.
std::string begin_of(pid_t pid) {
  constexpr int kFieldsBetween = 19;
  const std::string text = read_table(fmt::format("/proc/{}/stat", pid));
  std::size_t at = text.rfind(')');
  for (int field = 0; at != std::string::npos && field <= kFieldsBetween; ++field) {
    at = text.find(' ', at + 1);
  }
  return at == std::string::npos ? "" : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

// The task's processes and what they hold. A number that was given to a stranger meanwhile is none
// of them: who is looked at was of the task before and is afterwards.
std::vector<Process> look_at(const std::vector<std::string>& marks) {
  std::vector<Process> found;
  std::size_t files = 0;
  for (const pid_t pid : processes_of(marks)) {
    Process process{pid, begin_of(pid), network_of(pid), {}};
    const bool goes_on = add_sockets(pid, files, process.sockets);
    if (!process.begun.empty()) found.push_back(std::move(process));
    if (!goes_on) break;
  }
  const std::vector<pid_t> again = processes_of(marks);
  const std::set<pid_t> still(again.begin(), again.end());
  std::erase_if(found, [&](const Process& process) {
    return still.count(process.pid) == 0 || begin_of(process.pid) != process.begun;
  });
  return found;
}

std::set<std::uint64_t> holders(const std::vector<Listener>& all, std::uint16_t port) {
  std::set<std::uint64_t> found;
  for (const Listener& each : all) {
    if (each.port == port) found.insert(each.inode);
  }
  return found;
}

Error nothing_listens(std::uint16_t port, const std::set<std::uint16_t>& ports) {
  std::string said = "it listens on no port yet; `dove logs` may say why";
  if (!ports.empty()) {
    said = "it listens on ";
    std::size_t named = 0;
    for (const std::uint16_t each : ports) {
      if (++named > kPortsNamed) break;
      said += fmt::format("{}{}", named == 1 ? "" : ", ", each);
    }
    if (ports.size() > kPortsNamed) said += ", …";
  }
  return Error{ErrorKind::kNotFound, "nothing_listens",
               fmt::format("no process of the task listens on port {}: {}", port, said), "port"};
}

Error cannot_open(const char* what) {
  return Error{ErrorKind::kUnavailable, "forward_failed",
               fmt::format("the agent cannot {}: {}", what, std::strerror(errno)), ""};
}

}  // namespace

Result<TaskPort> find_task_port(const std::vector<std::string>& marks, std::uint16_t port) {
  std::map<std::uint64_t, pid_t> networks;  // each with a process of the task in it
  std::set<std::uint64_t> own;
  for (const Process& process : look_at(marks)) {
    if (process.network != 0) networks.emplace(process.network, process.pid);
    own.insert(process.sockets.begin(), process.sockets.end());
  }
  std::set<std::uint16_t> ports;
  for (const auto& [network, pid] : networks) {
    const std::vector<Listener> all = listeners_seen_by(pid);
    TaskPort found;
    found.addresses = port_addresses(all, own, port);
    if (!found.addresses.empty() && network_of(pid) == network) {
      found.port = port;
      found.process = pid;
      found.network = network;
      found.listeners = holders(all, port);
      return found;
    }
    for (const Listener& each : all) {
      if (own.count(each.inode) != 0) ports.insert(each.port);
    }
  }
  return nothing_listens(port, ports);
}

bool is_unchanged(const TaskPort& port) {
  if (network_of(port.process) != port.network) return false;
  return holders(listeners_seen_by(port.process), port.port) == port.listeners;
}

// On a thread of its own, which alone is in the other network and ends there.
Result<int> open_in_network(const TaskPort& port, int family) {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (inode_of("/proc/self/ns/net") == port.network) {
    const int fd = ::socket(family, kType, 0);
    return fd >= 0 ? Result<int>(fd) : cannot_open("make a socket");
  }
  Result<int> made = Error{};
  std::thread([&] {
    const std::string path = fmt::format("/proc/{}/ns/net", port.process);
    const int network = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat found {};
    if (network < 0 || ::fstat(network, &found) != 0 || found.st_ino != port.network) {
      errno = network < 0 ? errno : ESRCH;
      made = cannot_open("open the task's network");
    } else if (::setns(network, CLONE_NEWNET) != 0) {
      made = cannot_open("enter the task's network");
    } else if (const int fd = ::socket(family, kType, 0); fd >= 0) {
      made = fd;
    } else {
      made = cannot_open("make a socket");
    }
    if (network >= 0) ::close(network);
  }).join();
  return made;
}

}  // namespace dove::agent
