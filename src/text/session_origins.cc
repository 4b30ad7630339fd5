#include "text/session_origins.h"

#include <algorithm>
#include <charconv>

namespace dove::text {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '[' ||
           c == ']' || c == ':';
  });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<SessionOrigins> SessionOrigins::parse(std::string_view text) {
  SessionOrigins out;
  out.secure_ = text.starts_with("https://");
  if (!take(text, "https://") && !take(text, "http://")) return std::nullopt;
  while (text.ends_with('/')) text.remove_suffix(1);
  out.by_name_ = take(text, "*.");
  const std::size_t colon = text.ends_with(']') ? std::string_view::npos : text.rfind(':');
  out.host_ = text.substr(0, colon);
  if (!is_host(out.host_)) return std::nullopt;
  if (colon == std::string_view::npos) {
    return out.by_name_ ? std::optional(out) : std::nullopt;
  }
  const std::string_view ports = text.substr(colon + 1);
  const std::size_t dash = ports.find('-');
  const auto first = read_port(ports.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : read_port(ports.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  if (out.by_name_ && dash != std::string_view::npos) return std::nullopt;
  out.first_port_ = *first;
  out.last_port_ = *last;
  const bool is_usual = out.by_name_ && *first == (out.secure_ ? 443 : 80);
  if (is_usual) out.first_port_ = out.last_port_ = 0;
  return out;
}

std::string SessionOrigins::host_of(std::uint64_t job) const {
  if (by_name_) {
    std::string host = "j" + std::to_string(job) + "." + host_;
    if (first_port_ != 0) host += ":" + std::to_string(first_port_);
    return host;
  }
  const std::uint64_t count = static_cast<std::uint64_t>(last_port_ - first_port_) + 1;
  return host_ + ":" + std::to_string(first_port_ + job % count);
}

std::string SessionOrigins::origin_of(std::uint64_t job) const { return scheme() + host_of(job); }

std::uint64_t SessionOrigins::job_of(std::string_view host) const {
  if (!by_name_ || host.size() < 3 || lower(host.front()) != 'j') return 0;
  std::uint64_t job = 0;
  const auto [end, error] = std::from_chars(host.data() + 1, host.data() + host.size(), job);
  if (error != std::errc() || end == host.data() + host.size()) return 0;
  // Written as we write it, and not as "j042": one session has one name.
  const std::string wanted = host_of(job);
  const bool same = std::equal(host.begin(), host.end(), wanted.begin(), wanted.end(),
                               [](char a, char b) { return lower(a) == b; });
  return same ? job : 0;
}

}  // namespace dove::text
