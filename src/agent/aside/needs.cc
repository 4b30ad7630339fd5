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

Result<void> make_place(const std::filesystem::path& path, const Needs& needs,
                        const std::optional<LinuxUser>& user) {
  if (needs.contained) {
    TRY_ASSIGN(const ContainerIdentity inside, container_identity(needs.linux_user, needs.as_root));
    return make_own_directory(path.parent_path(), path.filename(),
                              containers::outside_of(inside.uids, inside.uid),
                              containers::outside_of(inside.gids, inside.gid));
  }
  if (!user) {
    return Error{ErrorKind::kInvalid, "no_linux_user", "its Linux user is not known here", ""};
  }
  return make_own_directory(path.parent_path(), path.filename(), user->uid, user->gid);
}

}  // namespace

Result<void> meet(const Needs& needs) {
  const std::optional<LinuxUser> user = look_up_linux_user(needs.linux_user);
  for (const std::string& path : needs.places) {
    const Result<void> made = make_place(path, needs, user);
    if (made.ok()) continue;
    telemetry::log(telemetry::Level::kWarning, "no_directory",
                   {{"path", path}, {"why", made.error().message}});
  }
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
