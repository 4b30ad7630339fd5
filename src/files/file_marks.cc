#include "files/file_marks.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace dove::files {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
// Two changes within a tick of the system's clock have one time.
constexpr std::int64_t kSettled_ns = 2 * kSecond_ns;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * kSecond_ns + time.tv_nsec; }

}  // namespace

FileMarks::Mark FileMarks::mark_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, ns_of(info.st_mtim), ns_of(info.st_ctim)};
}

bool FileMarks::changed() {
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  const std::int64_t now_ns = ns_of(clock);
  std::vector<Mark> now;
  for (const std::string& path : paths_) now.push_back(mark_of(path));
  const bool is_same = is_settled_ && now == marks_;
  marks_ = std::move(now);
  is_settled_ = std::ranges::all_of(marks_, [&](const Mark& mark) {
    return mark.file == 0 || now_ns - mark.changed_ns > kSettled_ns;
  });
  return !is_same;
}

}  // namespace dove::files
