#include "slurm/works/linux_user.h"

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include "files/linux_users.h"
#include "files/text_file.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kLoginDefsBytesMax = 64 << 10;

// The least id that is a person's, as useradd(8) gives them.
uid_t least_person() {
  constexpr uid_t kUsual = 1000;
  constexpr std::string_view kName = "UID_MIN";
  std::istringstream lines(files::text_or_empty("/etc/login.defs", kLoginDefsBytesMax));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    uid_t value = 0;
    if (words >> name >> value && name == kName) return value;
  }
  return kUsual;
}

}  // namespace

Result<LinuxUser> linux_user(const std::string& name) {
  const files::LinuxLookUp looked = name.empty() ? files::LinuxLookUp{} : files::look_up(name);
  const files::LinuxEntry& entry = looked.entry;
  if (looked.answer == files::LinuxLookUp::Answer::kUnsure) {
    return Error{ErrorKind::kUnavailable, "users_away",
                 fmt::format("the machine of Slurm's adapter cannot tell for sure who \"{}\" is: "
                             "{}; look at nsswitch.conf, sssd and the network",
                             name, looked.why),
                 ""};
  }
  if (looked.answer == files::LinuxLookUp::Answer::kNobody) {
    return Error{ErrorKind::kInvalid, "no_linux_user",
                 fmt::format("there is no Linux user \"{}\" where Slurm's adapter runs: make the "
                             "account, or submit without `executor`",
                             name),
                 "executor"};
  }
  if (entry.uid == 0) {
    return Error{ErrorKind::kDenied, "root_runs_nothing",
                 "Slurm's adapter neither starts jobs nor reads their output as root: submit as "
                 "another user, or without `executor`",
                 "executor"};
  }
  // SlurmUser is such an account, and may do everything in Slurm.
  if (::geteuid() == 0 && entry.uid < least_person()) {
    return Error{
        ErrorKind::kDenied, "system_account",
        fmt::format("Slurm's adapter neither starts jobs nor reads their output as \"{}\", "
                    "an account of the system (UID_MIN in /etc/login.defs): give User a "
                    "`linux_user` that is a person's, or submit without `executor`",
                    name),
        "executor"};
  }
  if (::geteuid() != 0 && ::geteuid() != entry.uid) {
    return Error{ErrorKind::kDenied, "adapter_not_root",
                 "Slurm's adapter is not root, and neither starts jobs of other users nor reads "
                 "their output: an administrator runs `dove slurm` as root",
                 "executor"};
  }
  return LinuxUser{name, entry.uid, entry.gid, entry.home};
}

bool become(const LinuxUser& user) {
  if (::geteuid() == 0) {
    if (::initgroups(user.name.c_str(), user.gid) != 0) return false;
    if (::setresgid(user.gid, user.gid, user.gid) != 0) return false;
    if (::setresuid(user.uid, user.uid, user.uid) != 0) return false;
  }
  return ::getuid() == user.uid && ::geteuid() == user.uid;
}

}  // namespace dove::slurm
