// LinuxUser: what this machine knows about its users, without a loop waiting for the directory of
// users.
//
// A look-up may never return (LDAP, SSSD). look_up_linux_user() therefore runs on a side thread
// before anything needs the user; known_linux_user() is the result of the latest look-up, for the
// whole process. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dove::agent {

struct LinuxUser {
  std::string name;
  std::string home;
  std::string shell;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
};

// Asks the machine, and keeps the answer; "": this process's own user.
std::optional<LinuxUser> look_up_linux_user(const std::string& name);
// Nothing: there is no such user, or nobody has asked yet.
std::optional<LinuxUser> known_linux_user(const std::string& name);

// For tests: who is asked in place of the machine; nullptr: the machine again.
void ask_of_linux_users(std::function<std::optional<LinuxUser>(const std::string&)> source);

}  // namespace dove::agent
