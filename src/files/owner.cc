#include "files/owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "files/descriptor.h"

namespace dove::files {
namespace {

Error ungiven(const std::string& path, const Owner& owner, const char* why) {
  return Error{ErrorKind::kInternal, "file_unwritable",
               path + " cannot be given to user " + std::to_string(owner.user) + ": " + why, path};
}

// `directory`/`name`, which is `path`. The user may move and link there meanwhile, so each is
// looked at and given by its descriptor. A second name of a file may be one of root's elsewhere.
Result<void> give(int directory, const char* name, const std::string& path, const Owner& owner);

Result<void> give_below(int above, const char* name, const std::string& path, const Owner& owner) {
  Descriptor fd(::openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DIR* const opened = fd.is_open() ? ::fdopendir(fd.get()) : nullptr;
  if (opened == nullptr) return ungiven(path, owner, std::strerror(errno));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, ::closedir);
  const int directory = fd.release();  // the stream's
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view each = entry->d_name;
    if (each != "." && each != "..") {
      TRY(give(directory, entry->d_name, path + "/" + entry->d_name, owner));
    }
    errno = 0;
  }
  if (errno != 0) return ungiven(path, owner, std::strerror(errno));
  return {};
}

Result<void> give(int directory, const char* name, const std::string& path, const Owner& owner) {
  const Descriptor it(::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat seen {};
  if (!it.is_open() || ::fstat(it.get(), &seen) != 0) {
    return ungiven(path, owner, std::strerror(errno));
  }
  if (S_ISDIR(seen.st_mode)) TRY(give_below(directory, name, path, owner));
  if (seen.st_uid != 0 || (!S_ISDIR(seen.st_mode) && seen.st_nlink != 1)) return {};
  if (::fchownat(it.get(), "", owner.user, owner.group, AT_EMPTY_PATH) == 0) return {};
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
  return give(AT_FDCWD, directory.c_str(), directory, owner);
}

}  // namespace dove::files
