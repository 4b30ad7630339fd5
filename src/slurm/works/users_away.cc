#include "slurm/works/users_away.h"

#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kWait_s = 120;

}  // namespace

bool UsersAway::waits(const PlaceholderKey& key, const std::string& user, std::int64_t now_s) {
  // What waited may have been withdrawn.
  std::erase_if(since_s_, [&](const auto& one) { return now_s - one.second > 2 * kWait_s; });
  const files::LinuxLookUp found = user.empty() ? files::LinuxLookUp{} : ask_(user);
  if (found.answer != files::LinuxLookUp::Answer::kUnsure) {
    since_s_.erase(key);
    return false;
  }
  const auto [since, is_new] = since_s_.emplace(key, now_s);
  if (is_new) {
    telemetry::log(telemetry::Level::kWarning, "users_unknown",
                   {{"job", key.job}, {"user", user}, {"why", found.why}});
  }
  return now_s - since->second < kWait_s;
}

}  // namespace dove::slurm
