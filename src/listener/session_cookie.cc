#include "listener/session_cookie.h"

#include <fmt/format.h>

namespace dove::listener {
namespace {

constexpr std::string_view kName = "__Host-dove";
constexpr std::string_view kWhere = "Path=/; Secure; HttpOnly; SameSite=Strict";
constexpr std::string_view kSignInName = "__Host-dove-sign-in";
constexpr std::string_view kSignInWhere = "Path=/; Secure; HttpOnly; SameSite=Lax";
constexpr int kSignInLasts_s = 600;

bool changes_nothing(const wire::Request& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && request.header("Upgrade").empty();
}

std::string_view without_scheme(std::string_view origin) {
  const std::size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

std::optional<std::string_view> cookie_of(const wire::Request& request, std::string_view name) {
  std::string_view rest = request.header("Cookie");
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=') {
      return one.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> session_of(const wire::Request& request) {
  return cookie_of(request, kName);
}

std::optional<std::string_view> sign_in_of(const wire::Request& request) {
  return cookie_of(request, kSignInName);
}

std::string set_sign_in(std::string_view sealed) {
  return fmt::format("{}={}; Max-Age={}; {}", kSignInName, sealed, kSignInLasts_s, kSignInWhere);
}

std::string end_sign_in() { return fmt::format("{}=; Max-Age=0; {}", kSignInName, kSignInWhere); }

Result<void> check_origin(const wire::Request& request) {
  if (changes_nothing(request)) return {};
  const std::string_view origin = without_scheme(request.header("Origin"));
  if (!origin.empty() && origin == request.header("Host")) return {};
  return Error{ErrorKind::kDenied, "cross_origin",
               fmt::format("a session of the console is good for its own page alone, and this call "
                           "comes from '{}'; programs use a key (`dove key create`)",
                           request.header("Origin").substr(0, 200)),
               "Origin"};
}

std::string set_session(std::string_view secret, std::int64_t seconds) {
  return fmt::format("{}={}; Max-Age={}; {}", kName, secret, seconds, kWhere);
}

std::string end_session() { return fmt::format("{}=; Max-Age=0; {}", kName, kWhere); }

}  // namespace dove::listener
