#include "agent/aside/linux_user.h"

#include <fmt/format.h>
#include <grp.h>

#include <map>
#include <mutex>
#include <utility>

#include "files/linux_users.h"

namespace dove::agent {
namespace {

constexpr int kGroupsMax = 65'536;

// Never destroyed: a thread that hangs may come back while the process ends.
struct Known {
  std::mutex mutex;
  std::map<std::string, LinuxUser> users;
  std::function<Result<LinuxUser>(const std::string&)> source;
};

Known& known() {
  static Known* const all = new Known();
  return *all;
}

Error unsure(const std::string& name, const std::string& why) {
  return Error{ErrorKind::kUnavailable, kUsers_away,
               fmt::format("this machine cannot tell for sure who '{}' is: {}; look at "
                           "nsswitch.conf, sssd and the network",
                           name, why),
               ""};
}

Result<LinuxUser> ask_machine(const std::string& name) {
  const files::LinuxLookUp found = files::look_up(name);
  switch (found.answer) {
    case files::LinuxLookUp::Answer::kFound:
      break;
    case files::LinuxLookUp::Answer::kNobody:
      return Error{ErrorKind::kNotFound, "no_linux_user",
                   fmt::format("there is no Linux user '{}' here", name), ""};
    case files::LinuxLookUp::Answer::kUnsure:
      return unsure(name, found.why);
  }
  const files::LinuxEntry& entry = found.entry;
  LinuxUser user{entry.name, entry.home, entry.shell, entry.uid, entry.gid, {}};
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.name.c_str(), entry.gid, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size()) || count > kGroupsMax) return user;
    groups.resize(static_cast<std::size_t>(count));
  }
  user.groups.assign(groups.begin(), groups.begin() + count);
  return user;
}

}  // namespace

Result<LinuxUser> look_up_linux_user(const std::string& name) {
  std::function<Result<LinuxUser>(const std::string&)> source;
  {
    const std::lock_guard<std::mutex> lock(known().mutex);
    source = known().source;
  }
  Result<LinuxUser> user = source ? source(name) : ask_machine(name);
  const std::lock_guard<std::mutex> lock(known().mutex);
  if (user.ok()) {
    known().users[name] = *user;
  } else if (user.error().kind == ErrorKind::kNotFound && known().users.contains(name)) {
    return unsure(name, "the directory of users knew them before, and does not find them now");
  }
  return user;
}

std::optional<LinuxUser> known_linux_user(const std::string& name) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  const auto found = known().users.find(name);
  if (found == known().users.end()) return std::nullopt;
  return found->second;
}

void ask_of_linux_users(std::function<Result<LinuxUser>(const std::string&)> source) {
  const std::lock_guard<std::mutex> lock(known().mutex);
  known().source = std::move(source);
  known().users.clear();
}

}  // namespace dove::agent
