#include "agent/attempts/own_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dove::agent {
namespace {

struct Descriptor {
  explicit Descriptor(int of) : fd(of) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

Error cannot(const std::string& path, const char* what) {
  return Error{ErrorKind::kInternal, "own_directory",
               fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno)), path};
}

}  // namespace

Result<void> make_own_directory(const std::string& parent, const std::string& name, uid_t uid,
                                gid_t gid) {
  const std::string path = parent + "/" + name;
  const Descriptor above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (above.fd < 0) return cannot(parent, "opened");
  const bool is_new = ::mkdirat(above.fd, name.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return cannot(path, "made");
  const Descriptor made(
      ::openat(above.fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (made.fd < 0 || ::fstat(made.fd, &info) != 0) return cannot(path, "opened");
  if (info.st_uid == uid) return {};
  // Between mkdirat and openat somebody who may write here can put another directory in its place:
  // only one that is still ours, and empty of others' rights, is given away.
  if (!is_new || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return Error{ErrorKind::kConflict, "not_theirs",
                 fmt::format("{} belongs to user {} already, so user {} does not get it; move it "
                             "away if it is of no use any more",
                             path, info.st_uid, uid),
                 path};
  }
  if (::fchown(made.fd, uid, gid) != 0) return cannot(path, "given to its user");
  return {};
}

}  // namespace dove::agent
