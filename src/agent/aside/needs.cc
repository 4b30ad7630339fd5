#include "agent/aside/needs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "agent/aside/linux_user.h"
#include "agent/attempts/own_directory.h"
#include "agent/containers/container_plan.h"
#include "containers/id_map.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

Result<Owner> owner_of(const Needs& needs, const Result<LinuxUser>& user) {
  if (needs.contained) {
    TRY_ASSIGN(const ContainerIdentity inside, container_identity(needs.linux_user, needs.as_root));
    return Owner{containers::outside_of(inside.uids, inside.uid),
                 containers::outside_of(inside.gids, inside.gid)};
  }
  if (user.ok()) return Owner{user->uid, user->gid};
  return Error{ErrorKind::kInvalid, "no_linux_user", "its Linux user is not known here", ""};
}

// Without a place of its own a job starts, unless somebody may have laid it out for it.
Result<void> make_place(const std::filesystem::path& path, bool is_shared,
                        const Result<Owner>& owner) {
  Result<void> made;
  if (!owner.ok()) {
    made = owner.error();
  } else if (is_shared) {
    const std::filesystem::path kind = path.parent_path();
    made = make_shared_directory(kind.parent_path(), kind.filename(), path.filename(), owner->uid,
                                 owner->gid);
  } else {
    made = make_own_directory(path.parent_path(), path.filename(), owner->uid, owner->gid);
  }
  if (made.ok() || made.error().code == "place_not_guarded") return made;
  telemetry::log(telemetry::Level::kWarning, "no_directory",
                 {{"path", path.string()}, {"why", made.error().message}});
  return {};
}

}  // namespace

Result<void> meet(const Needs& needs) {
  const Result<LinuxUser> user = look_up_linux_user(needs.linux_user);
  if (!user.ok() && user.error().code == kUsers_away && !needs.linux_user.empty()) {
    return user.error();
  }
  const Result<Owner> owner = owner_of(needs, user);
  for (const std::string& path : needs.places) TRY(make_place(path, false, owner));
  for (const std::string& path : needs.shared_places) TRY(make_place(path, true, owner));
  if (needs.workdir.empty()) return {};
  struct stat info {};
  if (::stat(needs.workdir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error{ErrorKind::kInvalid, "no_workdir",
                 fmt::format("working directory {} does not exist on node {}; submit from a "
                             "directory that all nodes share, or give --chdir",
                             needs.workdir, needs.node),
                 ""};
  }
  return {};
}

}  // namespace dove::agent
