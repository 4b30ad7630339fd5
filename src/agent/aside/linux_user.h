// LinuxUser: what this machine knows about its users, without a loop waiting for the directory of
// users.
//
// A look-up may never return (LDAP, SSSD). look_up_linux_user() therefore runs on a side thread
// before anything needs the user; known_linux_user() is what the latest look-up found, for the
// whole process. Any thread.
//
// That a user is not found counts only where the directory of users can say so: not while its
// service is away, and not of somebody whom it knew before in this process's life.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::agent {

struct LinuxUser {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
};

inline constexpr const char kUsers_away[] = "users_away";

// Asks the machine, and keeps whom it finds; "": this process's own user. Errors: kNotFound
// no_linux_user · kUnavailable kUsers_away: ask again later.
Result<LinuxUser> look_up_linux_user(const std::string& name);
// Nothing: there is no such user, or nobody has asked yet.
std::optional<LinuxUser> known_linux_user(const std::string& name);

// For tests: who is asked in place of the machine; nullptr: the machine again.
void ask_of_linux_users(std::function<Result<LinuxUser>(const std::string&)> source);

}  // namespace dove::agent
