#include "files/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace dove::files {
namespace {

namespace fs = std::filesystem;

Error ungiven(const std::string& path, const Owner& owner, const char* why) {
  return Error{ErrorKind::kInternal, "file_unwritable",
               path + " cannot be given to user " + std::to_string(owner.user) + ": " + why, path};
}

// A second name of a file may be one of root's elsewhere, which the user put here.
Result<void> give(const std::string& path, const Owner& owner) {
  struct stat seen {};
  if (::lstat(path.c_str(), &seen) != 0) return ungiven(path, owner, std::strerror(errno));
  if (seen.st_uid != 0 || (!S_ISDIR(seen.st_mode) && seen.st_nlink != 1)) return {};
  if (::lchown(path.c_str(), owner.user, owner.group) == 0) return {};
  return ungiven(path, owner, std::strerror(errno));
}

}  // namespace

std::optional<Owner> owner_of(const std::string& path) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return std::nullopt;
  return Owner{seen.st_uid, seen.st_gid};
}

std::optional<Owner> owner_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return owner_of(slash == std::string::npos ? "."
                                             : path.substr(0, std::max<std::size_t>(slash, 1)));
}

Result<void> give_tree(const std::string& directory, const Owner& owner) {
  if (::geteuid() != 0 || owner.user == 0) return {};
  std::error_code failed;
  for (auto at = fs::recursive_directory_iterator(directory, failed);
       !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    TRY(give(at->path(), owner));
  }
  if (failed) return ungiven(directory, owner, failed.message().c_str());
  return give(directory, owner);
}

}  // namespace dove::files
