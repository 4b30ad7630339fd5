// Networks: "10.0.0.0/16", "2001:db8::/32", or one address. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dove::text {

struct Network {
  std::array<std::uint8_t, 16> address{};  // of IPv4 as ::ffff:a.b.c.d
  int bits = 128;                          // of them that count
  bool operator==(const Network&) const = default;
};

// None where it is neither, or names bits beyond its prefix ("10.0.0.1/16").
std::optional<Network> parse_network(std::string_view text);
// `address`: numeric, "10.0.0.7" or "fe80::1"; another text is in no network.
bool network_holds(const Network& network, std::string_view address);

}  // namespace dove::text
