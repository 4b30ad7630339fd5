#include "devices/host.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool usable(std::int32_t core) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return true;
  return core < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(core), &allowed);
}

}  // namespace

Result<std::vector<std::int32_t>> parse_id_list(const std::string& text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto wrong = [&] {
    return Error{ErrorKind::kInvalid, "id_list",
                 fmt::format("'{}' is not a list of ids such as 0-3,8", text), ""};
  };
  while (at < end) {
    std::int32_t from = 0;
    auto [next, error] = std::from_chars(at, end, from);
    if (error != std::errc() || from < 0) return wrong();
    std::int32_t to = from;
    if (next < end && *next == '-') {
      auto [after, error2] = std::from_chars(next + 1, end, to);
      if (error2 != std::errc() || to < from || to - from > 65'536) return wrong();
      next = after;
    }
    for (std::int32_t id = from; id <= to; ++id) ids.push_back(id);
    if (next < end && *next != ',') return wrong();
    at = next < end ? next + 1 : next;
  }
  return ids;
}

Result<Inventory> HostProbe::inventory() {
  Inventory found;
  found.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (std::int32_t node = 0;; ++node) {
    const fs::path folder = fmt::format("/sys/devices/system/node/node{}", node);
    std::error_code error;
    if (!fs::exists(folder, error)) break;
    TRY_ASSIGN(const std::vector<std::int32_t> cores,
               parse_id_list(first_line(folder / "cpulist")));
    NumaNode numa;
    for (std::int32_t core : cores) {
      if (usable(core)) numa.cores.push_back(core);
    }
    found.numa.push_back(std::move(numa));
  }
  if (found.numa.empty()) {
    NumaNode all;
    const auto count = static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    for (std::int32_t core = 0; core < count; ++core) all.cores.push_back(core);
    found.numa.push_back(std::move(all));
  }
  for (NumaNode& numa : found.numa) {
    numa.memory_bytes = found.memory_bytes / static_cast<std::int64_t>(found.numa.size());
  }
  return found;
}

}  // namespace dove::devices
