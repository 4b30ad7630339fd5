#include "agent/tasks/huge_page_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace dove::agent {
namespace {

constexpr std::string_view kController = "hugetlb.";
constexpr std::string_view kReserved = ".rsvd";
// For v2 and for v1.
constexpr std::array<std::string_view, 2> kLimits{".max", ".limit_in_bytes"};

// "2MB", "1GB", "64KB" as the kernel writes them; 0: it is none of these.
std::int64_t page_of(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count <= 0 || count > 1023) return 0;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit == "KB") return count << 10;
  if (unit == "MB") return count << 20;
  return unit == "GB" ? count << 30 : 0;
}

// The size of the pages that this file limits; 0: it limits none.
std::int64_t limited_by(std::string_view file) {
  if (!file.starts_with(kController)) return 0;
  for (const std::string_view limit : kLimits) {
    if (!file.ends_with(limit)) continue;
    file.remove_prefix(kController.size());
    file.remove_suffix(limit.size());
    if (file.ends_with(kReserved)) file.remove_suffix(kReserved.size());
    return page_of(file);
  }
  return 0;
}

Result<void> set(const std::string& path, const std::string& value) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::write(fd, value.data(), value.size()) >= 0;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  if (done) return {};
  return Error{ErrorKind::kInternal, "cgroup_limit",
               fmt::format("cannot set {} to {}: {}", path, value, std::strerror(reason)), path};
}

}  // namespace

Result<void> limit_huge_pages(const std::string& directory, const BytesByPage& bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::pair<std::string, std::int64_t>> files;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (const std::int64_t page = limited_by(name); page > 0) files.emplace_back(name, page);
  }
  if (error) {
    return Error{ErrorKind::kInternal, "cgroup_limit",
                 fmt::format("cannot read the cgroup {}: {}", directory, error.message()),
                 directory};
  }
  for (const auto& [name, page] : files) {
    const auto given = bytes.find(page);
    TRY(set(directory + "/" + name, std::to_string(given == bytes.end() ? 0 : given->second)));
  }
  return {};
}

}  // namespace dove::agent
