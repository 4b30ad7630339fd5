#include "server/ssh/ssh_entries.h"

#include <algorithm>

namespace dove::server {
namespace {

constexpr std::int64_t kGatewayIsSilent_us = 120'000'000;

}  // namespace

void SshEntries::announce(Gateway gateway, std::int64_t now_us) {
  gateway_ = std::move(gateway);
  announced_us_ = now_us;
}

std::optional<SshEntries::Gateway> SshEntries::gateway(std::int64_t now_us) const {
  if (now_us - announced_us_ > kGatewayIsSilent_us) return std::nullopt;
  return gateway_;
}

Result<void> SshEntries::open(const std::string& key_sha256, Session session, std::int64_t now_us) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.ends_us <= now_us; });
  const auto own = std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return entry.second.user == session.user;
  });
  if (static_cast<std::size_t>(own) >= kOfUserMax || sessions_.size() >= kMost) {
    return Error{ErrorKind::kExhausted, "rate_limited",
                 "too many keys of `dove ssh` were made in the last five minutes; wait, or use a "
                 "key of your own (`dove ssh-key add`)",
                 ""};
  }
  const auto other = sessions_.find(key_sha256);
  if (other != sessions_.end() && other->second.user != session.user) {
    return Error{ErrorKind::kConflict, "ssh_key_taken",
                 "somebody else registered this key a moment ago; make a new one", "key"};
  }
  session.ends_us = now_us + kSession_us;
  sessions_[key_sha256] = std::move(session);
  return {};
}

const SshEntries::Session* SshEntries::find(const std::string& key_sha256, std::int64_t now_us) {
  const auto found = sessions_.find(key_sha256);
  if (found == sessions_.end() || found->second.ends_us <= now_us) return nullptr;
  return &found->second;
}

void SshEntries::drop(const std::string& by) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.by == by; });
}

const SshEntries::Issued* SshEntries::issued(const Same& same, std::int64_t now_us) {
  const auto found = issued_.find(same);
  if (found == issued_.end() || found->second.ends_us <= now_us) return nullptr;
  return &found->second;
}

void SshEntries::keep(const Same& same, Issued issued, std::int64_t now_us) {
  std::erase_if(issued_, [&](const auto& entry) { return entry.second.ends_us <= now_us; });
  if (issued_.size() >= kMost) return;
  issued.ends_us = now_us + kSame_us;
  issued_[same] = std::move(issued);
}

}  // namespace dove::server
