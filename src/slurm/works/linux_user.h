// The Linux users as whom the adapter starts programs and reads files.
//
// Blocks for as long as the directory of users does. One thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace dove::slurm {

struct LinuxUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
};

// A person's account on this machine. Errors: kInvalid no_linux_user; kUnavailable users_away: ask
// again later; kDenied root_runs_nothing, system_account, adapter_not_root.
Result<LinuxUser> linux_user(const std::string& name);

// Gives this process the user's rights and nothing more. Nothing comes back from it. False: it may
// have some of them, and is to end.
bool become(const LinuxUser& user);

}  // namespace dove::slurm
