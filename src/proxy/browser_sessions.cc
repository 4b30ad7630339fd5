#include "proxy/browser_sessions.h"

#include <algorithm>
#include <utility>

#include "wire/secret.h"

namespace dove::proxy {
namespace {

constexpr std::int64_t kTellEvery_us = 30'000'000;

void end(BrowserSession& session) {
  session.over = true;
  session.idle.clear();
}

void tell(BrowserSession& session, Api& api, std::int64_t now_us) {
  session.told_input_us = now_us;
  api.note_input(session.entry.job, session.entry.token, (now_us - session.last_input_us) / 1000);
}

// The oldest of the links that lay idle since the last sweep go.
void drop_idle(BrowserSession& session) {
  auto& idle = session.idle;
  std::erase_if(idle, [](const auto& link) { return !link->is_open(); });
  const std::size_t unneeded = std::min(session.idle_least, idle.size());
  if (unneeded > BrowserSessions::kIdleLinksKept) {
    idle.erase(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(
                                                unneeded - BrowserSessions::kIdleLinksKept));
  }
  session.idle_least = idle.size();
}

}  // namespace

std::string BrowserSessions::add(Entry entry, std::uint16_t port, std::int64_t now_us) {
  if (sessions_.size() >= kMost) {
    std::erase_if(sessions_, [&](const auto& each) {
      return each.second->over || each.second->entry.ends_us <= now_us;
    });
    if (sessions_.size() >= kMost) return "";
  }
  std::string secret = wire::random_token(32);
  auto session = std::make_shared<BrowserSession>();
  session->entry = std::move(entry);
  session->port = port;
  sessions_[wire::sha256_hex(secret)] = std::move(session);
  return secret;
}

BrowserSessionPtr BrowserSessions::find(const std::vector<std::string_view>& secrets,
                                        std::uint64_t job, std::int64_t now_us) {
  for (const std::string_view secret : secrets) {
    const auto found = sessions_.find(wire::sha256_hex(secret));
    if (found == sessions_.end() || found->second->entry.job != job) continue;
    if (!found->second->over && found->second->entry.ends_us > now_us) return found->second;
  }
  return nullptr;
}

void BrowserSessions::drop(const BrowserSessionPtr& session) {
  end(*session);
  std::erase_if(sessions_, [&](const auto& each) { return each.second == session; });
}

void BrowserSessions::drop_others(std::uint16_t port, std::uint64_t job) {
  std::erase_if(sessions_, [&](const auto& each) {
    const bool other = each.second->port == port && each.second->entry.job != job;
    if (other) end(*each.second);
    return other;
  });
}

void BrowserSessions::saw_input(BrowserSession& session, Api& api, std::int64_t now_us) {
  session.last_input_us = now_us;
  if (session.told_input_us != 0 && now_us - session.told_input_us < kTellEvery_us) return;
  tell(session, api, now_us);
}

void BrowserSessions::sweep(Api& api, std::int64_t now_us) {
  std::erase_if(sessions_, [&](const auto& each) {
    BrowserSession& session = *each.second;
    const bool over = session.over || session.entry.ends_us <= now_us;
    if (over) end(session);
    drop_idle(session);
    const bool is_news = session.last_input_us > session.told_input_us;
    if (!over && is_news && now_us - session.told_input_us >= kTellEvery_us) {
      tell(session, api, now_us);
    }
    return over;
  });
}

}  // namespace dove::proxy
