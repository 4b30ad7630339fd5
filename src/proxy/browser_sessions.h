// BrowserSessions: the browsers that were let in, each to the app of one job, with the token that
// speaks for it. The browser has a secret of ours in a cookie, and never the token.
//
// In memory only: after a restart browsers go through the console again, which asks nobody anything
// who is signed in there. Instants are of the steady clock, as a wrong one of this machine ends
// nobody's session. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/api.h"
#include "proxy/app_link.h"

namespace dove::proxy {

struct BrowserSession {
  Entry entry;
  std::uint16_t port = 0;  // that it came in at
  // Links that carry nothing now; each belongs to this session alone, as its token opened it.
  std::vector<std::unique_ptr<AppLink>> idle;
  std::size_t idle_least = 0;      // of them, at any time since the last sweep
  std::int64_t last_input_us = 0;  // monotonic; 0: none yet
  std::int64_t told_input_us = 0;
  bool over = false;
};

using BrowserSessionPtr = std::shared_ptr<BrowserSession>;

class BrowserSessions {
 public:
  static constexpr std::size_t kMost = 20'000;
  // A job has 256 connections, for all that look at it.
  static constexpr std::size_t kIdleLinksMost = 128;
  static constexpr std::size_t kIdleLinksKept = 16;  // though nobody has needed them for a while

  // The secret for the cookie; "": there are too many.
  std::string add(Entry entry, std::uint16_t port, std::int64_t now_us);
  // The session of the job, by any of the secrets that a browser sent; nullptr: none of them.
  BrowserSessionPtr find(const std::vector<std::string_view>& secrets, std::uint64_t job,
                         std::int64_t now_us);
  // The server takes its token no more.
  void drop(const BrowserSessionPtr& session);
  // Another job has this port now.
  void drop_others(std::uint16_t port, std::uint64_t job);
  // Ends what is too old, and tells the server who was used since it was told last.
  void sweep(Api& api, std::int64_t now_us);
  static void saw_input(BrowserSession& session, Api& api, std::int64_t now_us);
  std::size_t size() const { return sessions_.size(); }

 private:
  std::map<std::string, BrowserSessionPtr> sessions_;  // by the digest of the secret
};

}  // namespace dove::proxy
