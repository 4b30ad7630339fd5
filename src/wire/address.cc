#include "wire/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

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

std::string network_of(std::string_view peer) {
  std::string host(peer.substr(0, peer.ends_with(']') ? peer.size() : peer.rfind(':')));
  if (!host.starts_with('[') || !host.ends_with(']')) return host;
  host = host.substr(1, host.size() - 2);
  in6_addr bytes{};
  if (inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &bytes) != 1) return host;
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
    return inet_ntop(AF_INET, &bytes.s6_addr[12], text, sizeof text);
  }
  if (IN6_IS_ADDR_LOOPBACK(&bytes)) return "::1";
  std::fill(std::begin(bytes.s6_addr) + 8, std::end(bytes.s6_addr), std::uint8_t{0});
  return fmt::format("{}/64", inet_ntop(AF_INET6, &bytes, text, sizeof text));
}

}  // namespace dove::wire
