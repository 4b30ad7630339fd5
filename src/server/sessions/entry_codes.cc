#include "server/sessions/entry_codes.h"

#include <algorithm>
#include <utility>

#include "wire/secret.h"
#include "wire/server_limits.h"

namespace dove::server {

Result<std::string> EntryCodes::issue(listener::Entry entry, std::string origin, std::string state,
                                      std::int64_t now_us) {
  std::erase_if(issued_, [&](const auto& each) { return each.second.ends_us <= now_us; });
  const auto of_user = std::ranges::count_if(
      issued_, [&](const auto& each) { return each.second.entry.user == entry.user; });
  if (issued_.size() >= kMost || static_cast<std::size_t>(of_user) >= kMostOfUser) {
    return Error{ErrorKind::kUnavailable, wire::kRateLimited,
                 "many browsers are being let in to sessions already; try again in a minute", ""};
  }
  std::string code = wire::random_token(32);
  issued_[wire::sha256_hex(code)] =
      Issued{std::move(entry), std::move(origin), std::move(state), now_us + kLasts_us};
  return code;
}

std::optional<listener::Entry> EntryCodes::trade(const std::string& code, const std::string& origin,
                                                 const std::string& nonce, std::int64_t now_us) {
  const auto found = issued_.find(wire::sha256_hex(code));
  if (found == issued_.end()) return std::nullopt;
  const Issued issued = std::move(found->second);
  issued_.erase(found);
  if (issued.ends_us <= now_us || issued.origin != origin) return std::nullopt;
  if (!wire::equal_constant_time(issued.state, wire::sha256_hex(nonce))) return std::nullopt;
  return issued.entry;
}

}  // namespace dove::server
