#include "wire/address.h"

#include <fmt/format.h>

#include <charconv>

namespace dove::wire {

std::string Address::text() const {
  if (!unix_path.empty()) return "localhost";
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<ServerUrl> parse_server_url(const std::string& url) {
  const Error bad{ErrorKind::kInvalid, "bad_url",
                  fmt::format("'{}' is not the URL of a server: write https://HOST:PORT, or "
                              "http://HOST:PORT for one without TLS",
                              url),
                  ""};
  ServerUrl out;
  out.secure = url.starts_with("https://");
  if (!out.secure && !url.starts_with("http://")) return bad;
  std::string rest = url.substr(out.secure ? 8 : 7);
  if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
    out.prefix = rest.substr(slash);
    rest.resize(slash);
    while (out.prefix.ends_with('/')) out.prefix.pop_back();
  }
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != std::string::npos && rest.find(']', colon) == std::string::npos;
  out.host = has_port ? rest.substr(0, colon) : rest;
  out.port = out.secure ? 443 : 80;
  if (has_port) {
    const char* end = rest.data() + rest.size();
    const auto [at, error] = std::from_chars(rest.data() + colon + 1, end, out.port);
    if (error != std::errc() || at != end || out.port == 0) return bad;
  }
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  if (out.host.empty() || out.host.find_first_of("@?# ") != std::string::npos) return bad;
  return out;
}

}  // namespace dove::wire
