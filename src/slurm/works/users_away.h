// UsersAway: what is to begin as a user whom the directory of users cannot name now waits for it,
// for two minutes. After that it is tried, and says why it cannot begin. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "files/linux_users.h"
#include "slurm/plan.h"

namespace dove::slurm {

class UsersAway {
 public:
  using Ask = std::function<files::LinuxLookUp(const std::string& user)>;
  explicit UsersAway(Ask ask = files::look_up) : ask_(std::move(ask)) {}

  // Whether the placement `key` waits at `now_s`.
  bool waits(const PlaceholderKey& key, const std::string& user, std::int64_t now_s);

 private:
  const Ask ask_;
  std::map<PlaceholderKey, std::int64_t> since_s_;
};

}  // namespace dove::slurm
