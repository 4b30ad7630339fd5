#include "listener/session_cookie.h"

#include <fmt/format.h>

namespace dove::listener {
namespace {

constexpr std::string_view kName = "__Host-dove";
constexpr std::string_view kWhere = "Path=/; Secure; HttpOnly; SameSite=Strict";

bool changes_nothing(const wire::Request& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && request.header("Upgrade").empty();
}

std::string_view without_scheme(std::string_view origin) {
  const std::size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

}  // namespace

std::optional<std::string_view> session_of(const wire::Request& request) {
  std::string_view rest = request.header("Cookie");
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > kName.size() && one.starts_with(kName) && one[kName.size()] == '=') {
      return one.substr(kName.size() + 1);
    }
  }
  return std::nullopt;
}

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
