#include "agent/tasks/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "agent/devices/device_rules.h"
#include "files/text_file.h"

namespace dove::agent {
namespace {

constexpr const char kAgentLeaf[] = "agent";
constexpr const char kHugePagesOfKernel[] = "/sys/kernel/mm/hugepages";
constexpr std::int64_t kNoLimitBytes = std::int64_t{1} << 60;  // v1 says a rounded 2^63 instead

std::string read_text(const std::string& path) { return files::text_or_empty(path, 1 << 20); }

// 0, or the error's number.
int write_text(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : 0;
  ::close(fd);
  return error;
}

bool has_word(const std::string& text, const std::string& word, char separator) {
  std::istringstream words(text);
  for (std::string one; std::getline(words, one, separator);) {
    if (one.substr(0, one.find('\n')) == word) return true;
  }
  return false;
}

std::string list_of(const std::vector<std::int32_t>& cpus) {
  return fmt::format("{}", fmt::join(cpus, ","));
}

Result<void> set(const std::string& directory, const char* file, const std::string& value) {
  const int error = write_text(directory + "/" + file, value);
  if (error == 0) return {};
  return Error{
      ErrorKind::kInternal, "cgroup_limit",
      fmt::format("cannot set {}/{} to {}: {}", directory, file, value, std::strerror(error)),
      file};
}

bool make_directory(const std::string& path) {
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

// Controllers ("memory,pids", "" for v2) to this process's path below the hierarchy's mount.
std::map<std::string, std::string> own_paths() {
  std::map<std::string, std::string> paths;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    paths[line.substr(first + 1, second - first - 1)] = line.substr(second + 1);
  }
  return paths;
}

// What the kernel enables for groups below `directory`, of what we use.
void enable_controllers(const std::string& directory, bool is_attempt) {
  const std::string available = read_text(directory + "/cgroup.controllers");
  for (const char* controller : {"memory", "pids", "cpuset", "hugetlb"}) {
    // Huge pages are not counted below an attempt.
    if (is_attempt && std::strcmp(controller, "hugetlb") == 0) continue;
    if (has_word(available, controller, ' ')) {
      write_text(directory + "/cgroup.subtree_control", fmt::format("+{}", controller));
    }
  }
}

// Whether groups below `directory` can have controllers and processes. With processes in it, memory
// cannot be enabled, and if another controller is, no process can join a group below any more. Only
// the kernel's own root, which alone has no type, is exempt. This process makes way.
bool is_clear(const std::string& directory, bool makes_way) {
  if (::access((directory + "/cgroup.type").c_str(), F_OK) != 0) return true;
  const std::string own = fmt::format("{}\n", ::getpid());
  const std::string inside = read_text(directory + "/cgroup.procs");
  if (inside != own || !makes_way) return inside.empty();
  const std::string leaf = fmt::format("{}/{}", directory, kAgentLeaf);
  return make_directory(leaf) && write_text(leaf + "/cgroup.procs", "0") == 0;
}

// A v1 cpuset is unusable until both of its lists are set.
void inherit_cpuset(const std::string& parent, const std::string& directory) {
  for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
    if (read_text(directory + file).size() <= 1) {
      write_text(directory + file, read_text(parent + file));
    }
  }
}

}  // namespace

// Makes `hierarchy.directory` in `base` with every controller there is; false if it cannot.
bool CgroupRoot::open_v2(Hierarchy& hierarchy, const std::string& base, bool makes_way) {
  if (!make_directory(hierarchy.directory)) return false;
  if (is_clear(base, makes_way)) enable_controllers(base, false);
  enable_controllers(hierarchy.directory, false);
  const std::string enabled = read_text(hierarchy.directory + "/cgroup.subtree_control");
  hierarchy.memory = has_word(enabled, "memory", ' ');
  hierarchy.pids = has_word(enabled, "pids", ' ');
  hierarchy.cpuset = has_word(enabled, "cpuset", ' ');
  hierarchy.hugetlb = has_word(enabled, "hugetlb", ' ');
  return true;
}

void CgroupRoot::add_v2(Hierarchy hierarchy, const std::string& own, const std::string& name) {
  std::string base = own;
  if (base.ends_with(fmt::format("/{}", kAgentLeaf))) {
    base.resize(base.size() - std::strlen(kAgentLeaf) - 1);
  }
  Hierarchy top = hierarchy;
  top.directory = hierarchy.mount + "/" + name;
  hierarchy.directory = base + "/" + name;
  // systemd starts a unit again in the unit's own group, which then must not have limited children.
  const bool is_unit = own.ends_with(".service");
  if (!is_unit && open_v2(hierarchy, base, true) && hierarchy.memory) {
    hierarchies_.push_back(std::move(hierarchy));
    return;
  }
  // The top is exempt from the rule that groups with processes have no limited children.
  const bool can_be_top = base != hierarchy.mount;
  if (can_be_top && open_v2(top, top.mount, false) && (top.memory || is_unit)) {
    ::rmdir(hierarchy.directory.c_str());
    hierarchies_.push_back(std::move(top));
    return;
  }
  ::rmdir(top.directory.c_str());
  if (open_v2(hierarchy, base, true)) hierarchies_.push_back(std::move(hierarchy));
}

void CgroupRoot::add_v1(Hierarchy hierarchy, const std::string& base) {
  if (!make_directory(hierarchy.directory)) return;
  if (hierarchy.cpuset) inherit_cpuset(base, hierarchy.directory);
  hierarchies_.push_back(std::move(hierarchy));
}

CgroupRoot CgroupRoot::detect(const std::string& name, bool uses_programs) {
  CgroupRoot root;
  const std::map<std::string, std::string> paths = own_paths();
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, mount, type, options;
    words >> device >> mount >> type >> options;
    if (type != "cgroup" && type != "cgroup2") continue;
    Hierarchy hierarchy;
    hierarchy.v2 = type == "cgroup2";
    hierarchy.memory = !hierarchy.v2 && has_word(options, "memory", ',');
    hierarchy.pids = !hierarchy.v2 && has_word(options, "pids", ',');
    hierarchy.cpuset = !hierarchy.v2 && has_word(options, "cpuset", ',');
    hierarchy.hugetlb = !hierarchy.v2 && has_word(options, "hugetlb", ',');
    std::string base = mount;
    for (const auto& [controllers, path] : paths) {
      const std::string first = controllers.substr(0, controllers.find(','));
      const bool same =
          hierarchy.v2 ? first.empty() : !first.empty() && has_word(options, first, ',');
      if (same && path != "/" && ::access((mount + path).c_str(), F_OK) == 0) base = mount + path;
    }
    hierarchy.mount = mount;
    if (hierarchy.v2) {
      root.add_v2(std::move(hierarchy), base, name);
      continue;
    }
    hierarchy.directory = base + "/" + name;
    if (!hierarchy.memory && !hierarchy.pids && !hierarchy.cpuset && !hierarchy.hugetlb) {
      root.others_.push_back(hierarchy.directory);
      if (has_word(options, "devices", ',')) root.v1_devices_ = hierarchy.directory;
      continue;
    }
    root.add_v1(std::move(hierarchy), base);
  }
  bool v1 = false, v2 = false;
  for (const Hierarchy& hierarchy : root.hierarchies_) (hierarchy.v2 ? v2 : v1) = true;
  root.version_ = v1 && v2 ? Version::kHybrid
                  : v2     ? Version::kV2
                  : v1     ? Version::kV1
                           : Version::kNone;
  root.find_device_rules(uses_programs);
  root.not_enforced_ = root.missing();
  return root;
}

// By the hierarchy that tasks join anyway if it can, else by the devices controller of v1.
void CgroupRoot::find_device_rules(bool uses_programs) {
  no_devices_ = "no writable cgroup controller";
  if (version_ == Version::kNone) return;
  for (Hierarchy& hierarchy : hierarchies_) {
    if (!hierarchy.v2 || !uses_programs) continue;
    const Result<void> can = can_restrict_v2(hierarchy.directory);
    hierarchy.devices = can.ok();
    no_devices_ = can.ok() ? "" : can.error().message;
    if (can.ok()) return;
  }
  if (v1_devices_.empty() || !make_directory(v1_devices_)) return;
  if (::access((v1_devices_ + "/devices.deny").c_str(), W_OK) != 0) return;
  std::erase(others_, v1_devices_);
  Hierarchy devices;
  devices.directory = v1_devices_;
  devices.devices = true;
  hierarchies_.push_back(std::move(devices));
  if (version_ == Version::kV2) version_ = Version::kHybrid;
  no_devices_.clear();
}

bool CgroupRoot::limits_memory() const {
  return std::any_of(hierarchies_.begin(), hierarchies_.end(),
                     [](const Hierarchy& hierarchy) { return hierarchy.memory; });
}

std::string CgroupRoot::missing() const {
  if (version_ == Version::kNone) {
    return "limits of memory, number of processes, cpus, huge pages and devices are not enforced: "
           "no writable cgroup here; run as root, or let systemd delegate one (Delegate=yes)";
  }
  bool memory = false, pids = false, cpuset = false, hugetlb = false;
  for (const Hierarchy& hierarchy : hierarchies_) {
    memory = memory || hierarchy.memory;
    pids = pids || hierarchy.pids;
    cpuset = cpuset || hierarchy.cpuset;
    hugetlb = hugetlb || hierarchy.hugetlb;
  }
  std::vector<std::string> missing;
  if (!memory) missing.emplace_back("memory");
  if (!pids) missing.emplace_back("number of processes");
  if (!cpuset) missing.emplace_back("cpus");
  if (!hugetlb && ::access(kHugePagesOfKernel, F_OK) == 0) missing.emplace_back("huge pages");
  std::string text;
  if (!missing.empty()) {
    text = fmt::format("limits of {} are not enforced: no writable cgroup controller",
                       fmt::join(missing, ", "));
  }
  if (no_devices_.empty()) return text;
  return fmt::format("{}{}tasks can open the devices of others: {}", text, text.empty() ? "" : "; ",
                     no_devices_);
}

Result<void> CgroupRoot::make(const Hierarchy& hierarchy, const CgroupName& name,
                              const CgroupLimits& limits) {
  std::vector<std::string> directories;
  for (const std::string& above : name.above()) {
    directories.push_back(hierarchy.directory + "/" + above);
  }
  const std::string task = hierarchy.directory + "/" + name.text();
  directories.push_back(task);
  for (const std::string& directory : directories) {
    if (!make_directory(directory)) {
      return Error{ErrorKind::kInternal, "cgroup",
                   fmt::format("cannot make the cgroup {}: {}", directory, std::strerror(errno)),
                   directory};
    }
    if (hierarchy.v2 && directory != task) enable_controllers(directory, true);
    if (hierarchy.cpuset && !hierarchy.v2) inherit_cpuset(hierarchy.directory, directory);
  }
  const std::string& shared = directories.front();
  for (const auto& [directory, bytes] :
       {std::pair{shared, limits.memory_bytes},
        std::pair{directories[name.step.empty() ? 0 : 1],
                  name.step.empty() ? std::int64_t{0} : limits.step_bytes}}) {
    if (!hierarchy.memory || bytes <= 0) continue;
    const char* file = hierarchy.v2 ? "memory.max" : "memory.limit_in_bytes";
    TRY(set(directory, file, std::to_string(bytes)));
    // Where swap is not accounted there is no such file.
    if (hierarchy.v2) write_text(directory + "/memory.swap.max", "0");
  }
  if (hierarchy.hugetlb && limits.huge_pages) TRY(limit_huge_pages(shared, *limits.huge_pages));
  if (hierarchy.pids && limits.processes > 0) {
    TRY(set(task, "pids.max", std::to_string(limits.processes)));
  }
  if (hierarchy.devices && limits.devices) {
    const std::vector<DeviceRule> rules = device_rules(*limits.devices);
    TRY(hierarchy.v2 ? restrict_v2(task, rules) : restrict_v1(task, rules));
  }
  if (!hierarchy.cpuset) return {};
  if (!limits.cpus.empty()) TRY(set(task, "cpuset.cpus", list_of(limits.cpus)));
  if (!limits.nodes.empty()) TRY(set(task, "cpuset.mems", list_of(limits.nodes)));
  return {};
}

Result<Cgroup> CgroupRoot::create(const CgroupName& name, const CgroupLimits& limits) const {
  if (version_ == Version::kNone) {
    return Error{ErrorKind::kUnavailable, "no_cgroups", not_enforced_, ""};
  }
  for (const Hierarchy& hierarchy : hierarchies_) {
    // Joining a group costs the start of the task: only where something is limited.
    const bool needed =
        hierarchy.v2 ||
        (hierarchy.memory && std::max(limits.memory_bytes, limits.step_bytes) > 0) ||
        (hierarchy.pids && limits.processes > 0) || (hierarchy.cpuset && !limits.cpus.empty()) ||
        (hierarchy.hugetlb && limits.huge_pages) || (hierarchy.devices && limits.devices);
    if (!needed && version_ == Version::kHybrid) continue;
    if (Result<void> made = make(hierarchy, name, limits); !made.ok()) {
      find(name).remove();
      return made.error();
    }
  }
  return find(name);
}

Cgroup CgroupRoot::find(const CgroupName& name) const {
  Cgroup group;
  const std::vector<std::string> above = name.above();
  group.levels_ = above.size();
  for (const Hierarchy& hierarchy : hierarchies_) {
    const std::string directory = hierarchy.directory + "/" + name.text();
    if (::access(directory.c_str(), F_OK) != 0) continue;
    group.directories_.push_back(directory);
    for (auto each = above.rbegin(); each != above.rend(); ++each) {
      group.above_.push_back(hierarchy.directory + "/" + *each);
    }
    if (hierarchy.v2 && ::access((directory + "/cgroup.kill").c_str(), W_OK) == 0) {
      group.kill_path_ = directory + "/cgroup.kill";
    }
    if (!hierarchy.memory) continue;
    group.memory_directory_ = directory;
    group.v2_memory_ = hierarchy.v2;
  }
  return group;
}

// In version 2 a path below the mount; in version 1 one below the caller's own group of each
// hierarchy, which differ.
std::string CgroupRoot::runtime_path(const CgroupName& name) const {
  if (hierarchies_.empty()) return "";
  const Hierarchy& first = hierarchies_.front();
  if (version_ == Version::kV2) {
    return first.directory.substr(first.mount.size()) + "/" + name.text();
  }
  return first.directory.substr(first.directory.rfind('/') + 1) + "/" + name.text();
}

void CgroupRoot::clear(const CgroupName& name, std::size_t shared) const {
  std::vector<std::string> directories = others_;
  for (const Hierarchy& hierarchy : hierarchies_) directories.push_back(hierarchy.directory);
  for (const std::string& directory : directories) {
    ::rmdir((directory + "/" + name.text()).c_str());
    std::vector<std::string> above = name.above();
    for (; above.size() > shared; above.pop_back()) {
      ::rmdir((directory + "/" + above.back()).c_str());
    }
  }
}

void CgroupRoot::remove() const {
  for (const Hierarchy& hierarchy : hierarchies_) ::rmdir(hierarchy.directory.c_str());
  for (const std::string& directory : others_) ::rmdir(directory.c_str());
}

std::vector<std::string> CgroupName::above() const {
  if (attempt.empty()) return {};
  if (step.empty()) return {attempt};
  return {attempt, attempt + "/" + step};
}

std::size_t CgroupName::shared_with(const CgroupName& other) const {
  const std::vector<std::string> mine = above();
  const std::vector<std::string> theirs = other.above();
  std::size_t same = 0;
  while (same < std::min(mine.size(), theirs.size()) && mine[same] == theirs[same]) ++same;
  return same;
}

std::string CgroupName::text() const {
  const std::vector<std::string> all = above();
  return all.empty() ? task : all.back() + "/" + task;
}

void Cgroup::add_to(ShimConfig& config) const {
  for (const std::string& directory : directories_) {
    config.cgroup_procs.push_back(directory + "/cgroup.procs");
  }
  config.cgroup_kill = kill_path_;
  if (memory_directory_.empty()) return;
  config.cgroup_oom = memory_directory_ + (v2_memory_ ? "/memory.events" : "/memory.oom_control");
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> pids;
  for (const std::string& directory : directories_) {
    std::ifstream file(directory + "/cgroup.procs");
    for (pid_t pid = 0; file >> pid;) {
      if (pid > 1 && std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
    }
  }
  return pids;
}

bool Cgroup::kill_all(std::chrono::milliseconds limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (int wait_ms = 1;; wait_ms = std::min(wait_ms * 2, 50)) {
    if (!kill_path_.empty()) write_text(kill_path_, "1");
    const std::vector<pid_t> pids = processes();
    if (pids.empty()) return true;
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    if (std::chrono::steady_clock::now() >= until) return false;
    ::poll(nullptr, 0, wait_ms);
  }
}

std::int64_t Cgroup::memory_peak_bytes() const {
  if (memory_directory_.empty()) return 0;
  const char* file = v2_memory_ ? "/memory.peak" : "/memory.max_usage_in_bytes";
  return std::strtoll(read_text(memory_directory_ + file).c_str(), nullptr, 10);
}

std::int64_t Cgroup::memory_limit_bytes() const {
  if (memory_directory_.empty()) return 0;
  // The tightest of its own group's and those above it.
  std::string directory = memory_directory_;
  std::int64_t least = 0;
  for (std::size_t level = 0; level <= levels_; ++level) {
    const std::string text =
        read_text(directory + (v2_memory_ ? "/memory.max" : "/memory.limit_in_bytes"));
    const std::int64_t limit = std::strtoll(text.c_str(), nullptr, 10);  // "max": 0
    if (limit > 0 && limit < kNoLimitBytes && (least == 0 || limit < least)) least = limit;
    directory.resize(directory.rfind('/'));
  }
  return least;
}

bool Cgroup::remove(std::size_t shared) const {
  bool gone = true;
  for (const std::string& directory : directories_) {
    int error = EBUSY;
    for (int tries = 0; error == EBUSY && tries < 50; ++tries) {
      if (tries > 0) ::poll(nullptr, 0, 2);
      error = ::rmdir(directory.c_str()) == 0 || errno == ENOENT ? 0 : errno;
    }
    gone = gone && error == 0;
  }
  // Fails while there is another task in it, whose end removes it then.
  for (std::size_t i = 0; i < above_.size(); ++i) {
    if (levels_ - i % levels_ > shared) ::rmdir(above_[i].c_str());
  }
  return gone;
}

}  // namespace dove::agent
