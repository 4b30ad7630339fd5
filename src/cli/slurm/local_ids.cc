#include "cli/slurm/local_ids.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <array>
#include <map>

namespace dove::cli {
namespace {

constexpr const char* kNobody = "4294967294";

LocalIds ask(const std::string& user) {
  LocalIds ids;
  std::array<char, 16384> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(user.c_str(), &entry, space.data(), space.size(), &found) != 0 ||
      found == nullptr) {
    return ids;
  }
  ids.uid = std::to_string(entry.pw_uid);
  ids.gid = ids.group = std::to_string(entry.pw_gid);
  group group_entry{};
  group* found_group = nullptr;
  if (getgrgid_r(entry.pw_gid, &group_entry, space.data(), space.size(), &found_group) == 0 &&
      found_group != nullptr) {
    ids.group = group_entry.gr_name;
  }
  return ids;
}

}  // namespace

LocalIds local_ids(const std::string& user) {
  thread_local std::map<std::string, LocalIds> known;
  const auto found = known.find(user);
  return found != known.end() ? found->second : known.emplace(user, ask(user)).first->second;
}

std::string user_with_id(const std::string& user) {
  const std::string uid = local_ids(user).uid;
  return fmt::format("{}({})", user, uid.empty() ? kNobody : uid);
}

std::string group_with_id(const std::string& user) {
  const LocalIds ids = local_ids(user);
  return fmt::format("{}({})", ids.group.empty() ? user : ids.group,
                     ids.gid.empty() ? kNobody : ids.gid);
}

}  // namespace dove::cli
