#include "files/guarded_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace dove::files {
namespace {

namespace fs = std::filesystem;

Error unreachable(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kNotFound, "file_unreachable", fmt::format("{}: {}", path, why), path};
}

Error unguarded(const std::string& path, std::string why) {
  return Error{ErrorKind::kInvalid, "file_unguarded", std::move(why), path};
}

Result<void> check_owner(const std::string& path, const struct stat& seen, mode_t excused) {
  if (seen.st_uid != 0 && seen.st_uid != ::geteuid()) {
    return unguarded(
        path,
        fmt::format("{} belongs to another user, who could change it: `chown root` it", path));
  }
  if ((seen.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (seen.st_mode & excused) != 0) return {};
  return unguarded(path, fmt::format("others may write in {}: `chmod go-w` it", path));
}

// Whoever may rename a folder on the way puts another file in this one's place.
Result<void> check_folders(const fs::path& folder) {
  for (fs::path at = folder;; at = at.parent_path()) {
    struct stat seen = {};
    if (::stat(at.c_str(), &seen) != 0) return unreachable(at, std::strerror(errno));
    TRY(check_owner(at, seen, at == folder ? 0 : S_ISVTX));
    if (at == at.root_path()) return {};
  }
}

}  // namespace

Result<std::string> guarded_file(const std::string& given) {
  std::error_code trouble;
  const fs::path folder = fs::canonical(fs::path(given).parent_path(), trouble);
  if (trouble) return unreachable(given, trouble.message());
  std::string path = folder / fs::path(given).filename();
  struct stat seen = {};
  if (::lstat(path.c_str(), &seen) != 0) return unreachable(path, std::strerror(errno));
  if (!S_ISREG(seen.st_mode)) {
    return unguarded(
        path, fmt::format("{} is no regular file (a link is none): name the file itself", path));
  }
  TRY(check_owner(path, seen, 0));
  TRY(check_folders(folder));
  return path;
}

}  // namespace dove::files
