#include "agent/aside/linux_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

namespace dove::agent {
namespace {

constexpr std::size_t kEntryMax_bytes = 1 << 20;
constexpr int kGroupsMax = 65'536;

// Never destroyed: a thread that hangs may come back while the process ends.
struct Known {
  std::mutex mutex;
  std::map<std::string, LinuxUser> users;
  std::function<std::optional<LinuxUser>(const std::string&)> source;
};

Known& known() {
  static Known* const all = new Known();
  return *all;
}

std::optional<LinuxUser> ask_machine(const std::string& name) {
  std::vector<char> room(4096);
  passwd entry{};
  passwd* found = nullptr;
  for (;;) {
    const int error = name.empty()
                          ? ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found)
                          : ::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found);
    if (error == EINTR) continue;
    if (error != ERANGE || room.size() >= kEntryMax_bytes) break;
    room.resize(room.size() * 4);
  }
  if (found == nullptr) return std::nullopt;
  LinuxUser user{entry.pw_name, entry.pw_dir, entry.pw_shell, entry.pw_uid, entry.pw_gid, {}};
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size()) || count > kGroupsMax) return user;
    groups.resize(static_cast<std::size_t>(count));
  }
  user.groups.assign(groups.begin(), groups.begin() + count);
  return user;
}

}  // namespace

std::optional<LinuxUser> look_up_linux_user(const std::string& name) {
  std::function<std::optional<LinuxUser>(const std::string&)> source;
  {
    const std::lock_guard<std::mutex> lock(known().mutex);
    source = known().source;
  }
  std::optional<LinuxUser> user = source ? source(name) : ask_machine(name);
  const std::lock_guard<std::mutex> lock(known().mutex);
  if (user) {
    known().users[name] = *user;
  } else {
    known().users.erase(name);
  }
  return user;
}

std::optional<LinuxUser> known_linux_user(const std::string& name) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  const auto found = known().users.find(name);
  if (found == known().users.end()) return std::nullopt;
  return found->second;
}

void ask_of_linux_users(std::function<std::optional<LinuxUser>(const std::string&)> source) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  known().source = std::move(source);
  known().users.clear();
}

}  // namespace dove::agent
