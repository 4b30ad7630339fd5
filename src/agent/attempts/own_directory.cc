#include "agent/attempts/own_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "files/descriptor.h"

namespace dove::agent {
namespace {

using files::Descriptor;

// Whose things are that root makes over NFS, where the server does not believe in that root.
constexpr uid_t kNobody = 65534;

Error cannot(const std::string& path, const char* what) {
  return Error{ErrorKind::kInternal, "own_directory",
               fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno)), path};
}

Error not_guarded(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kConflict, "place_not_guarded",
               fmt::format("{} {}, so others may put there what a job takes for its own: move it "
                           "away and the agent makes another, or make it a directory of root's "
                           "with mode 755 (or 1777, where root may not write)",
                           path, why),
               path};
}

// `shared`/`kind`, open; its owner is root, this user, or whoever owns `shared` anyway.
Result<Descriptor> open_place(const std::string& shared, const std::string& kind) {
  const std::string path = shared + "/" + kind;
  const Descriptor above(::open(shared.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat around {};
  if (!above.is_open() || ::fstat(above.get(), &around) != 0) return cannot(shared, "opened");
  const bool is_there = ::mkdirat(above.get(), kind.c_str(), 0755) == 0 || errno == EEXIST;
  if (!is_there) return cannot(path, "made");
  Descriptor place(
      ::openat(above.get(), kind.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.is_open() && (errno == ELOOP || errno == ENOTDIR)) {
    return not_guarded(path, "is a link or a file");
  }
  struct stat info {};
  if (!place.is_open() || ::fstat(place.get(), &info) != 0) return cannot(path, "opened");
  const bool is_ours = info.st_uid == 0 || info.st_uid == ::geteuid() ||
                       info.st_uid == around.st_uid || info.st_uid == kNobody;
  if (!is_ours) return not_guarded(path, fmt::format("belongs to user {}", info.st_uid));
  const bool is_open = (info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0;
  if (is_open) return not_guarded(path, fmt::format("has mode {:o}", info.st_mode & 07777U));
  return place;
}

Result<void> make_below(const Descriptor& above, const std::string& parent, const std::string& name,
                        uid_t uid, gid_t gid) {
  const std::string path = parent + "/" + name;
  const bool is_new = ::mkdirat(above.get(), name.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return cannot(path, "made");
  const Descriptor made(
      ::openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!made.is_open() || ::fstat(made.get(), &info) != 0) return cannot(path, "opened");
  if (info.st_uid == uid) return {};
  // Between mkdirat and openat somebody who may write here can put another directory in its place:
  // only one that is still ours, and empty of others' rights, is given away.
  if (!is_new || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return Error{ErrorKind::kConflict, "not_theirs",
                 fmt::format("{} belongs to user {} already, so user {} does not get it; move it "
                             "away if nobody needs it any longer",
                             path, info.st_uid, uid),
                 path};
  }
  if (::fchown(made.get(), uid, gid) != 0) return cannot(path, "given to its user");
  return {};
}

}  // namespace

Result<void> make_own_directory(const std::string& parent, const std::string& name, uid_t uid,
                                gid_t gid) {
  const Descriptor above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.is_open()) return cannot(parent, "opened");
  return make_below(above, parent, name, uid, gid);
}

Result<void> make_shared_directory(const std::string& shared, const std::string& kind,
                                   const std::string& name, uid_t uid, gid_t gid) {
  TRY_ASSIGN(const Descriptor above, open_place(shared, kind));
  return make_below(above, shared + "/" + kind, name, uid, gid);
}

Result<void> make_shared_places(const std::string& shared) {
  std::error_code error;
  std::filesystem::create_directories(shared, error);
  for (const char* kind : {"checkpoints", "homes"}) {
    if (Result<Descriptor> made = open_place(shared, kind); !made.ok()) return made.error();
  }
  return {};
}

}  // namespace dove::agent
