#include "wire/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <sstream>

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

bool is_this_machine(const std::string& host) {
  unsigned char bytes[16] = {};
  if (inet_pton(AF_INET, host.c_str(), bytes) == 1) {
    return bytes[0] == 127 || host == "0.0.0.0";
  }
  if (inet_pton(AF_INET6, host.c_str(), bytes) == 1) {
    return std::memcmp(bytes, &in6addr_loopback, sizeof bytes) == 0 ||
           std::memcmp(bytes, &in6addr_any, sizeof bytes) == 0;
  }
  return host == "localhost";
}

Result<void> may_show_secrets(const std::string& urls, bool insecure) {
  if (insecure) return {};
  std::stringstream all(urls);
  for (std::string url; std::getline(all, url, ',');) {
    const Result<ServerUrl> read = parse_server_url(url);
    if (!read.ok() || read->secure || is_this_machine(read->host)) continue;
    return Error{ErrorKind::kInvalid, "insecure_url",
                 fmt::format("{}: tokens would go over the network in the clear, and everybody on "
                             "it could use them: write https://, or, where all of them are "
                             "trusted, say --insecure or DOVE_INSECURE=1",
                             url),
                 "--url"};
  }
  return {};
}

}  // namespace dove::wire
