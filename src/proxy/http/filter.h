// What passes between a browser and an app, and what does not: our cookies and tokens never reach
// the app, the app cannot set ours, and what is about one connection stays on it.
//
// Pure; both sides may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/head.h"

namespace dove::proxy {

// All our cookies begin so, the console's too.
bool is_own_cookie(std::string_view name);
// Names of the cookies of one session. On ports cookies are shared by all sessions of the host, so
// a name says whose it is.
std::string session_cookie(std::uint64_t job, bool secure);
std::string nonce_cookie(std::uint64_t job, bool secure);
std::string set_cookie(std::string_view name, std::string_view value, std::int64_t seconds,
                       bool secure);
// The values of that name: a page can set another one beside ours, with a path of its own.
std::vector<std::string_view> cookies_of(const Head& request, std::string_view name);

// A WebSocket, as a browser asks for one.
bool wants_web_socket(const Head& request);

struct Passing {
  std::string_view peer;  // address of the browser
  std::string_view user;
  bool secure = false;
  bool upgrades = false;
};

// The request as the app gets it.
std::string request_for_app(const Head& request, const Passing& passing);
// The head of the answer as the browser gets it; `closes`: the connection ends with it.
std::string answer_for_browser(const Head& answer, bool upgrades, bool closes);

}  // namespace dove::proxy
