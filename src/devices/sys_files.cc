#include "devices/sys_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesMax = 1000;

}  // namespace

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::int64_t> first_number(const fs::path& path) {
  const std::string line = first_line(path);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end == line.data()) return std::nullopt;
  return value;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
    if (names.size() == kNamesMax) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dove::devices
