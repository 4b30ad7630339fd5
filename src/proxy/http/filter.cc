#include "proxy/http/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dove::proxy {
namespace {

constexpr std::size_t kSameNameMax = 4;
constexpr std::array<std::string_view, 2> kOwnCookies{"__Host-dove", "dove-session-"};

// Headers of one connection (RFC 9110, 7.6.1), and those that are made anew.
constexpr std::array<std::string_view, 8> kHopByHop{
    "Connection", "Keep-Alive", "Proxy-Connection",   "Upgrade",
    "TE",         "Trailer",    "Proxy-Authenticate", "Proxy-Authorization"};

// What we say to the app, nobody else says in our name. Authorization is for us, or is nobody's:
// the app is behind our sign-in.
constexpr std::array<std::string_view, 4> kNotFromBrowsers{"Authorization", "Forwarded",
                                                           "X-Real-IP", "Cookie"};
constexpr std::string_view kOurPrefix = "X-Forwarded-";

// They are about more than the app's own origin: all cookies and connections of the host.
constexpr std::array<std::string_view, 3> kNotFromApps{"Clear-Site-Data",
                                                       "Strict-Transport-Security", "Alt-Svc"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return !one.empty() && same_word(one, name); });
}

bool starts_with_word(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && same_word(text.substr(0, prefix.size()), prefix);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Some servers of apps read "X_Forwarded_User" as "X-Forwarded-User": no name with '_' passes.
bool is_ours_to_say(std::string_view name) {
  return is_one_of(name, kNotFromBrowsers) || starts_with_word(name, kOurPrefix) ||
         name.find('_') != std::string_view::npos;
}

template <class Fn>
void each_part(std::string_view text, char separator, const Fn& fn) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    fn(trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void put(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// Whoever names these in Connection would have the next reader see another message.
constexpr std::array<std::string_view, 4> kAlways{"Host", "Content-Length", "Transfer-Encoding",
                                                  "Set-Cookie"};

bool passes(const Head& head, const Field& field) {
  if (is_one_of(field.name, kAlways)) return true;
  return !is_one_of(field.name, kHopByHop) && !head.lists("Connection", field.name);
}

void put_cookies(std::string& out, const Head& request) {
  std::string kept;
  for (const Field& field : request.fields) {
    if (!same_word(field.name, "Cookie")) continue;
    each_part(field.value, ';', [&](std::string_view pair) {
      if (pair.empty() || is_own_cookie(trimmed(pair.substr(0, pair.find('='))))) return;
      if (!kept.empty()) kept += "; ";
      kept += pair;
    });
  }
  if (!kept.empty()) put(out, "Cookie", kept);
}

// A cookie of the app's own origin, and not one of ours.
bool may_set(std::string_view cookie) {
  const std::size_t end = cookie.find(';');
  const std::string_view pair = trimmed(cookie.substr(0, end));
  const std::string_view name = trimmed(pair.substr(0, pair.find('=')));
  // A cookie without a name is sent as its value alone, which then reads as a pair.
  if (name.empty() || is_own_cookie(name)) return false;
  bool has_domain = false;
  if (end == std::string_view::npos) return true;
  each_part(cookie.substr(end + 1), ';', [&](std::string_view attribute) {
    has_domain =
        has_domain || same_word(trimmed(attribute.substr(0, attribute.find('='))), "Domain");
  });
  return !has_domain;
}

}  // namespace

bool is_own_cookie(std::string_view name) {
  return std::any_of(kOwnCookies.begin(), kOwnCookies.end(),
                     [&](std::string_view own) { return starts_with_word(name, own); });
}

std::string session_cookie(std::uint64_t job, bool secure) {
  return fmt::format("{}dove-session-{}", secure ? "__Host-" : "", job);
}

std::string nonce_cookie(std::uint64_t job, bool secure) {
  return fmt::format("{}dove-session-nonce-{}", secure ? "__Host-" : "", job);
}

std::string set_cookie(std::string_view name, std::string_view value, std::int64_t seconds,
                       bool secure) {
  return fmt::format("{}={}; Max-Age={}; Path=/; {}HttpOnly; SameSite=Lax", name, value, seconds,
                     secure ? "Secure; " : "");
}

std::vector<std::string_view> cookies_of(const Head& request, std::string_view name) {
  std::vector<std::string_view> found;
  for (const Field& field : request.fields) {
    if (!same_word(field.name, "Cookie")) continue;
    each_part(field.value, ';', [&](std::string_view pair) {
      const std::size_t end = pair.find('=');
      if (end == std::string_view::npos || pair.substr(0, end) != name) return;
      if (found.size() < kSameNameMax) found.push_back(pair.substr(end + 1));
    });
  }
  return found;
}

bool wants_web_socket(const Head& request) {
  return request.method == "GET" && request.lists("Connection", "upgrade") &&
         same_word(request.find("Upgrade"), "websocket");
}

std::string request_for_app(const Head& request, const Passing& passing) {
  std::string out;
  out.reserve(1024);
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  for (const Field& field : request.fields) {
    if (!passes(request, field) || is_ours_to_say(field.name)) continue;
    put(out, field.name, field.value);
  }
  put_cookies(out, request);
  if (passing.upgrades) out += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  put(out, "X-Forwarded-For", passing.peer);
  put(out, "X-Forwarded-Proto", passing.secure ? "https" : "http");
  put(out, "X-Forwarded-Host", request.find("Host"));
  put(out, "X-Forwarded-User", passing.user);
  out += "\r\n";
  return out;
}

std::string answer_for_browser(const Head& answer, bool upgrades, bool closes) {
  std::string out;
  out.reserve(1024);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", answer.status, answer.reason);
  for (const Field& field : answer.fields) {
    if (!passes(answer, field) || is_one_of(field.name, kNotFromApps)) continue;
    if (same_word(field.name, "Set-Cookie") && !may_set(field.value)) continue;
    put(out, field.name, field.value);
  }
  if (upgrades) out += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  if (closes && !upgrades) out += "Connection: close\r\n";
  out += "\r\n";
  return out;
}

}  // namespace dove::proxy
