#include "wire/outside/networks.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace dove::wire {
namespace {

struct Known {
  const char* network;
  int bits;
};

// IANA's registries of special-purpose addresses, with multicast and what is reserved.
constexpr Known kSpecialV4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 4},    {"240.0.0.0", 4},
};
// In 2000::/3, which alone is public: protocols (Teredo), documentation, 6to4.
constexpr Known kSpecialV6[] = {{"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};

constexpr int kV4Bits = 96;  // before the address itself

}  // namespace

bool Networks::parse(std::string_view text, Bytes& out) {
  const std::string line(text);
  in_addr v4{};
  if (inet_pton(AF_INET, line.c_str(), &v4) == 1) {
    out = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(out.data() + 12, &v4, 4);
    return true;
  }
  return inet_pton(AF_INET6, line.c_str(), out.data()) == 1;
}

bool Networks::holds(const Range& range, const Bytes& address) {
  const auto whole = static_cast<std::size_t>(range.bits / 8);
  if (std::memcmp(range.bytes.data(), address.data(), whole) != 0) return false;
  const int rest = range.bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (range.bytes[whole] & mask) == (address[whole] & mask);
}

bool Networks::is_public(const Bytes& address) {
  const auto in = [&](const char* network, int bits) {
    Range range{};
    const bool known = parse(network, range.bytes);
    CHECK(known, "the tables hold addresses");
    range.bits = bits;
    return holds(range, address);
  };
  if (in("0.0.0.0", kV4Bits)) {
    return std::ranges::none_of(
        kSpecialV4, [&](const Known& each) { return in(each.network, kV4Bits + each.bits); });
  }
  // NAT64 leads to the address of IPv4 that it ends with.
  if (in("64:ff9b::", 96)) {
    Bytes inner{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::copy(address.begin() + 12, address.end(), inner.begin() + 12);
    return is_public(inner);
  }
  return in("2000::", 3) && std::ranges::none_of(kSpecialV6, [&](const Known& each) {
           return in(each.network, each.bits);
         });
}

Result<void> Networks::allow(std::string_view network) {
  const Error wrong{ErrorKind::kInvalid, "bad_network",
                    fmt::format("{} is no network; write ADDRESS/BITS, as in 10.20.0.0/16",
                                network.substr(0, 64)),
                    ""};
  const std::size_t slash = network.find('/');
  Range range{};
  if (!parse(network.substr(0, slash), range.bytes)) return wrong;
  const bool is_v4 = network.substr(0, slash).find(':') == std::string_view::npos;
  const int most = is_v4 ? 32 : 128;
  int bits = most;
  if (slash != std::string_view::npos) {
    const std::string_view text = network.substr(slash + 1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), bits);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return wrong;
  }
  if (bits < 0 || bits > most) return wrong;
  range.bits = is_v4 ? kV4Bits + bits : bits;
  allowed_.push_back(range);
  return {};
}

bool Networks::permits(const Bytes& address) const {
  return is_public(address) ||
         std::ranges::any_of(allowed_, [&](const Range& range) { return holds(range, address); });
}

bool Networks::permits(const sockaddr& address) const {
  Bytes bytes{};
  if (address.sa_family == AF_INET) {
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(bytes.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.sa_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  } else {
    return false;
  }
  return permits(bytes);
}

bool Networks::permits(std::string_view address) const {
  Bytes bytes{};
  return parse(address, bytes) && permits(bytes);
}

}  // namespace dove::wire
