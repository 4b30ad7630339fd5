#include "agent/forward/listeners.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "text/words.h"

namespace dove::agent {
namespace {

constexpr std::string_view kListening = "0A";
constexpr std::size_t kInodeWord = 9;
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <class Number>
std::optional<Number> number_of(std::string_view text, int base) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return number;
}

// Words of 32 bits, each as this machine's numbers are.
std::optional<Listener> read_line(std::string_view line, bool is_v6) {
  const std::vector<std::string_view> words = text::words_of(line);
  if (words.size() <= kInodeWord || words[3] != kListening) return std::nullopt;
  const std::size_t digits = is_v6 ? 32 : 8;
  const std::string_view local = words[1];
  if (local.size() != digits + 5 || local[digits] != ':') return std::nullopt;
  Listener found;
  found.is_v6 = is_v6;
  for (std::size_t at = 0; at < digits; at += 8) {
    const auto word = number_of<std::uint32_t>(local.substr(at, 8), 16);
    if (!word) return std::nullopt;
    std::memcpy(found.address.data() + at / 2, &*word, sizeof *word);
  }
  const auto port = number_of<std::uint16_t>(local.substr(digits + 1), 16);
  const auto inode = number_of<std::uint64_t>(words[kInodeWord], 10);
  if (!port || !inode || *inode == 0) return std::nullopt;
  found.port = *port;
  found.inode = *inode;
  return found;
}

bool is_mapped(const Listener& listener) {
  return listener.is_v6 && std::equal(kMapped.begin(), kMapped.end(), listener.address.begin());
}

// As a socket of IPv4, when it is one by its address.
Listener plain(Listener listener) {
  if (!is_mapped(listener)) return listener;
  listener.is_v6 = false;
  std::copy_n(listener.address.begin() + kMapped.size(), 4, listener.address.begin());
  std::fill(listener.address.begin() + 4, listener.address.end(), std::uint8_t{0});
  return listener;
}

bool is_any(const Listener& listener) {
  return std::all_of(listener.address.begin(), listener.address.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

bool is_link_local(const Listener& listener) {
  return listener.is_v6 && listener.address[0] == 0xfe && (listener.address[1] & 0xc0) == 0x80;
}

SocketAddress address_v4(const std::uint8_t* address, std::uint16_t port) {
  SocketAddress made;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  std::memcpy(&name.sin_addr, address, 4);
  std::memcpy(&made.bytes, &name, sizeof name);
  made.size = sizeof name;
  return made;
}

SocketAddress address_v6(const std::uint8_t* address, std::uint16_t port) {
  SocketAddress made;
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  std::memcpy(&name.sin6_addr, address, 16);
  std::memcpy(&made.bytes, &name, sizeof name);
  made.size = sizeof name;
  return made;
}

}  // namespace

std::vector<Listener> read_listeners(std::string_view text, bool is_v6) {
  std::vector<Listener> found;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const std::optional<Listener> one = read_line(line, is_v6)) found.push_back(*one);
  }
  return found;
}

std::uint64_t socket_inode(std::string_view link) {
  constexpr std::string_view kBegin = "socket:[";
  if (!link.starts_with(kBegin) || !link.ends_with(']')) return 0;
  link.remove_prefix(kBegin.size());
  link.remove_suffix(1);
  return number_of<std::uint64_t>(link, 10).value_or(0);
}

std::string SocketAddress::text() const {
  char name[INET6_ADDRSTRLEN] = "";
  if (bytes.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &bytes, sizeof v4);
    inet_ntop(AF_INET, &v4.sin_addr, name, sizeof name);
    return fmt::format("{}:{}", name, ntohs(v4.sin_port));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &bytes, sizeof v6);
  inet_ntop(AF_INET6, &v6.sin6_addr, name, sizeof name);
  return fmt::format("[{}]:{}", name, ntohs(v6.sin6_port));
}

std::vector<SocketAddress> port_addresses(const std::vector<Listener>& all,
                                          const std::set<std::uint64_t>& own, std::uint16_t port) {
  constexpr std::uint8_t kLoopback_v4[4] = {127, 0, 0, 1};
  constexpr std::uint8_t kLoopback_v6[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::vector<Listener> strangers;
  for (const Listener& each : all) {
    if (each.port == port && own.count(each.inode) == 0) strangers.push_back(plain(each));
  }
  // Somebody else's socket that could be given a connection to this address.
  const auto is_shared = [&](bool is_v6, const std::uint8_t* address, std::size_t size) {
    return std::any_of(strangers.begin(), strangers.end(), [&](const Listener& other) {
      const bool takes_all = other.is_v6 == is_v6 && is_any(other);
      const bool is_equal =
          other.is_v6 == is_v6 && std::memcmp(other.address.data(), address, size) == 0;
      return takes_all || is_equal;
    });
  };
  std::vector<SocketAddress> found;
  std::vector<SocketAddress> last;  // where it may listen as well
  for (const Listener& each : all) {
    if (each.port != port || own.count(each.inode) == 0) continue;
    const Listener listener = plain(each);
    if (is_link_local(listener)) continue;
    const bool any = is_any(listener);
    const std::uint8_t* const v4 = any ? kLoopback_v4 : listener.address.data();
    const std::uint8_t* const v6 = any ? kLoopback_v6 : listener.address.data();
    if (!listener.is_v6 && !is_shared(false, v4, 4)) found.push_back(address_v4(v4, port));
    if (!listener.is_v6) continue;
    if (is_shared(true, v6, 16)) continue;
    found.push_back(address_v6(v6, port));
    if (any && !is_shared(false, kLoopback_v4, 4)) last.push_back(address_v4(kLoopback_v4, port));
  }
  found.insert(found.end(), last.begin(), last.end());
  return found;
}

}  // namespace dove::agent
