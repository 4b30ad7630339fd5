// Entrance: whether a request goes on to an app, and else what its browser is told: where to sign
// in, or why not.
//
// A browser without a session is sent to the console with the digest of a nonce that stays with it;
// it comes back with a code, which is good for that nonce alone. Nothing is asked of the server
// here. Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proxy/edge.h"
#include "proxy/http/head.h"
#include "proxy/pages.h"

namespace dove::proxy {

struct Trade {
  std::uint64_t job = 0;
  std::string code;
  std::string nonce;
  std::string origin;
  std::string path;
};

// One of the three is there.
struct Verdict {
  BrowserSessionPtr session = nullptr;
  std::optional<Trade> trade = {};
  std::optional<Page> page = {};
  std::string headers = {};  // with the page
};

// `port`: that the connection came in at.
Verdict judge(Edge& edge, const Head& request, std::uint16_t port);
// To the console, or for programs 401.
Verdict send_to_console(Edge& edge, const Head& request, std::uint64_t job);
// The browser's session begins: the answer leads to where it wanted to go.
Verdict let_in(Edge& edge, const Trade& trade, Entry entry, std::uint16_t port);

// Whether a person's browser asks for a page.
bool wants_page(const Head& request);
// A path of the same origin, which a browser cannot read as another one.
bool is_own_path(std::string_view path);

}  // namespace dove::proxy
