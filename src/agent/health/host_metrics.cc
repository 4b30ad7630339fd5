#include "agent/health/host_metrics.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Kind = telemetry::Exposition::Kind;
using telemetry::Exposition;

constexpr std::size_t kInterfacesMax = 64;
constexpr std::size_t kAttemptsMax = 1024;

void add_load(const fs::path& proc, Exposition& out) {
  std::ifstream file(proc / "loadavg");
  double minute = 0;
  if (!(file >> minute)) return;
  out.family("dove_host_load1", Kind::kGauge,
             "Processes that run or wait for a disk, over a minute.");
  out.add({}, minute);
}

void add_processors(const fs::path& proc, Exposition& out) {
  std::ifstream file(proc / "stat");
  std::string word;
  if (!(file >> word) || word != "cpu") return;
  out.family("dove_host_cpu_seconds_total", Kind::kCounter,
             "Processor time of all cores, by mode.");
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (const char* mode : {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}) {
    double count = 0;
    if (!(file >> count)) return;
    out.add({{"mode", mode}}, count / ticks);
  }
}

void add_memory(const fs::path& proc, Exposition& out) {
  std::ifstream file(proc / "meminfo");
  std::map<std::string, double> found;
  std::string name;
  double kib = 0;
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    if (words >> name >> kib) found[name] = kib * 1024;
  }
  const auto add = [&](const char* metric, const char* key, const char* about) {
    const auto at = found.find(key);
    if (at == found.end()) return;
    out.family(metric, Kind::kGauge, about);
    out.add({}, at->second);
  };
  add("dove_host_memory_bytes", "MemTotal:", "Memory of the node.");
  add("dove_host_memory_available_bytes",
      "MemAvailable:", "Memory that could be had without swap.");
}

void add_disk(const std::string& directory, Exposition& out) {
  struct statvfs disk {};
  if (directory.empty() || statvfs(directory.c_str(), &disk) != 0) return;
  out.family("dove_host_disk_bytes", Kind::kGauge, "Disk of the agent's directory.");
  out.add({}, static_cast<double>(disk.f_blocks) * static_cast<double>(disk.f_frsize));
  out.family("dove_host_disk_available_bytes", Kind::kGauge, "What is free on that disk.");
  out.add({}, static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize));
}

void add_network(const fs::path& proc, Exposition& out) {
  std::ifstream file(proc / "net/dev");
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  std::map<std::string, std::array<double, 2>> bytes;
  while (std::getline(file, line) && bytes.size() < kInterfacesMax) {
    std::replace(line.begin(), line.end(), ':', ' ');
    std::stringstream words(line);
    std::string name;
    std::array<double, 9> values{};
    words >> name;
    for (double& value : values) words >> value;
    // The ends of containers' networks come and go.
    if (!words || name.starts_with("veth")) continue;
    bytes[name] = {values[0], values[8]};
  }
  out.family("dove_host_network_received_bytes_total", Kind::kCounter, "Received, by interface.");
  for (const auto& [name, value] : bytes) out.add({{"interface", name}}, value[0]);
  out.family("dove_host_network_sent_bytes_total", Kind::kCounter, "Sent, by interface.");
  for (const auto& [name, value] : bytes) out.add({{"interface", name}}, value[1]);
}

void add_self(const fs::path& proc, Exposition& out) {
  std::ifstream file(proc / "self/statm");
  double pages = 0;
  double resident = 0;
  if (file >> pages >> resident) {
    out.family("process_resident_memory_bytes", Kind::kGauge, "Memory of this process.");
    out.add({}, resident * static_cast<double>(sysconf(_SC_PAGESIZE)));
  }
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) != 0) return;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  out.family("process_cpu_seconds_total", Kind::kCounter, "Processor time of this process.");
  out.add({}, seconds(used.ru_utime) + seconds(used.ru_stime));
}

struct AttemptUse {
  double memory_bytes = -1;
  double cpu_seconds = -1;
};

double first_number(const fs::path& path) {
  std::ifstream file(path);
  double value = -1;
  file >> value;
  return file ? value : -1;
}

// One hierarchy (v1 has several) of an attempt.
void read_use(const fs::path& group, AttemptUse& use) {
  for (const char* name : {"memory.current", "memory.usage_in_bytes"}) {
    if (const double bytes = first_number(group / name); bytes >= 0) use.memory_bytes = bytes;
  }
  if (const double ns = first_number(group / "cpuacct.usage"); ns >= 0) use.cpu_seconds = ns / 1e9;
  std::ifstream stat(group / "cpu.stat");
  std::string name;
  double value = 0;
  while (stat >> name >> value) {
    if (name == "usage_usec") use.cpu_seconds = value / 1e6;
  }
}

// Where the kernel put this process, in each hierarchy: "4:memory:/a/b", "0::/a/b".
std::set<fs::path> own_groups(const HostPaths& paths) {
  std::set<fs::path> found;
  std::ifstream file(fs::path(paths.proc) / "self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string inside = line.substr(std::min(second + 2, line.size()));
    for (const fs::path& base : {fs::path(paths.cgroups) / controllers, fs::path(paths.cgroups),
                                 fs::path(paths.cgroups) / "unified"}) {
      for (const fs::path& group : {base / inside, (base / inside).parent_path(), base}) {
        std::error_code error;
        const fs::path own = (group / paths.cgroup_group).lexically_normal();
        if (fs::is_directory(own, error)) found.insert(own);
      }
    }
  }
  return found;
}

void add_cgroups(const HostPaths& paths, Exposition& out) {
  if (paths.cgroup_group.empty()) return;
  std::map<std::string, AttemptUse> attempts;
  for (const fs::path& own : own_groups(paths)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(own, error)) {
      if (!entry.is_directory(error) || attempts.size() >= kAttemptsMax) continue;
      read_use(entry.path(), attempts[entry.path().filename().string()]);
    }
  }
  out.family("dove_cgroup_memory_bytes", Kind::kGauge, "Memory of an attempt's processes.");
  for (const auto& [name, use] : attempts) {
    if (use.memory_bytes >= 0) out.add({{"attempt", name}}, use.memory_bytes);
  }
  out.family("dove_cgroup_cpu_seconds_total", Kind::kCounter, "Processor time of an attempt.");
  for (const auto& [name, use] : attempts) {
    if (use.cpu_seconds >= 0) out.add({{"attempt", name}}, use.cpu_seconds);
  }
}

}  // namespace

void add_host_metrics(const HostPaths& paths, Exposition& out) {
  add_load(paths.proc, out);
  add_processors(paths.proc, out);
  add_memory(paths.proc, out);
  add_disk(paths.data_dir, out);
  add_network(paths.proc, out);
  add_self(paths.proc, out);
  add_cgroups(paths, out);
}

}  // namespace dove::agent
