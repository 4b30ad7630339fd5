#include "files/kept_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/digest.h"
#include "files/text_file.h"

namespace dove::files {
namespace {

constexpr std::size_t kDigestChars = 18;  // "=", 16 digits, a blank

std::string digest_of(std::string_view line) {
  Digest digest;
  digest.add(line);
  return fmt::format("={:016x} ", digest.value());
}

}  // namespace

std::string kept_line(std::string_view line) {
  return fmt::format("{}{}\n", digest_of(line), line);
}

KeptLines read_kept_lines(const std::string& path, std::size_t bytes_max) {
  std::vector<std::string> all;
  std::istringstream text(text_or_empty(path, bytes_max));
  for (std::string line; std::getline(text, line);) all.push_back(std::move(line));
  const bool has_digests = std::any_of(
      all.begin(), all.end(), [](const std::string& line) { return line.starts_with('='); });
  if (!has_digests) return {std::move(all), 0};
  KeptLines lines;
  for (const std::string& line : all) {
    const std::string rest = line.size() < kDigestChars ? "" : line.substr(kDigestChars);
    if (line.starts_with(digest_of(rest))) {
      lines.whole.push_back(rest);
    } else {
      ++lines.damaged;
    }
  }
  return lines;
}

}  // namespace dove::files
