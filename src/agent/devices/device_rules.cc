#include "agent/devices/device_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dove::agent {
namespace {

constexpr std::uint32_t kMemoryMajor = 1;
constexpr std::uint32_t kTerminalMajor = 5;
constexpr std::uint32_t kFirstPtsMajor = 136;
constexpr std::uint32_t kLastPtsMajor = 143;

std::vector<DeviceRule> standard_rules() {
  std::vector<DeviceRule> rules;
  for (const std::int64_t minor : {3, 5, 7, 8, 9}) {  // null, zero, full, random, urandom
    rules.push_back({'c', kMemoryMajor, minor});
  }
  rules.push_back({'c', kTerminalMajor, 0});  // tty
  rules.push_back({'c', kTerminalMajor, 2});  // ptmx
  for (std::uint32_t major = kFirstPtsMajor; major <= kLastPtsMajor; ++major) {
    rules.push_back({'c', major, kAnyMinor});
  }
  return rules;
}

int write_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int error = written < 0 ? errno : 0;
  ::close(fd);
  return error;
}

std::string line_of(const DeviceRule& rule) {
  const std::string minor = rule.minor == kAnyMinor ? "*" : std::to_string(rule.minor);
  return fmt::format("{} {}:{} rw", rule.type, rule.major, minor);
}

Error cannot(const std::string& path, const std::string& line, int error) {
  return Error{ErrorKind::kInternal, "device_rules",
               fmt::format("cannot write '{}' to {}: {}", line, path, std::strerror(error)), path};
}

}  // namespace

std::vector<std::string> expand_device_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    if (path.find_first_of("*?[") == std::string::npos) {
      found.push_back(path);
      continue;
    }
    glob_t matches{};
    if (::glob(path.c_str(), 0, nullptr, &matches) == 0) {
      found.insert(found.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    }
    ::globfree(&matches);
  }
  std::erase_if(found, [](const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) != 0 || !(S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode));
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<DeviceRule> device_rules(const std::vector<std::string>& paths) {
  std::vector<DeviceRule> rules = standard_rules();
  for (const std::string& path : expand_device_paths(paths)) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) continue;
    DeviceRule rule{S_ISBLK(facts.st_mode) ? 'b' : 'c', major(facts.st_rdev),
                    std::int64_t{minor(facts.st_rdev)}, false};
    const bool known = std::any_of(rules.begin(), rules.end(), [&](const DeviceRule& one) {
      return one.type == rule.type && one.major == rule.major &&
             (one.minor == rule.minor || one.minor == kAnyMinor);
    });
    if (!known) rules.push_back(rule);
  }
  return rules;
}

Result<void> restrict_v1(const std::string& directory, const std::vector<DeviceRule>& rules) {
  const std::string deny = directory + "/devices.deny";
  if (const int error = write_line(deny, "a"); error != 0) return cannot(deny, "a", error);
  const std::string allow = directory + "/devices.allow";
  // Making a device file opens nothing.
  for (const char* line : {"c *:* m", "b *:* m"}) write_line(allow, line);
  for (const DeviceRule& rule : rules) {
    const int error = write_line(allow, line_of(rule));
    if (error != 0 && !rule.is_standard) return cannot(allow, line_of(rule), error);
  }
  return {};
}

}  // namespace dove::agent
