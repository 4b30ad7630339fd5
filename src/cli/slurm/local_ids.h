// Numeric ids and groups of users by this machine's accounts, as Slurm's commands show them beside
// names.
//
// Asks the system's user database; any thread.
#pragma once

#include <string>

namespace dove::cli {

struct LocalIds {
  std::string uid, gid, group;  // "" : this machine does not know the user
};
LocalIds local_ids(const std::string& user);
// "root(0)"; a user that is not known here has 4294967294, as nobody's in Slurm.
std::string user_with_id(const std::string& user);
std::string group_with_id(const std::string& user);

}  // namespace dove::cli
