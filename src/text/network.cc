#include "text/network.h"

#include <arpa/inet.h>

#include <charconv>
#include <string>

namespace dove::text {
namespace {

constexpr int kBits = 128;
constexpr int kBitsBeforeIpv4 = 96;

struct Parsed {
  std::array<std::uint8_t, 16> bytes{};
  bool is_ipv4 = false;
};

std::optional<Parsed> parse_address(std::string_view text) {
  const std::string whole(text);  // with its end, as inet_pton wants it
  if (whole.find('\0') != std::string::npos) return std::nullopt;
  Parsed parsed;
  if (inet_pton(AF_INET6, whole.c_str(), parsed.bytes.data()) == 1) return parsed;
  parsed.bytes.fill(0);
  parsed.bytes[10] = parsed.bytes[11] = 0xff;
  parsed.is_ipv4 = true;
  if (inet_pton(AF_INET, whole.c_str(), parsed.bytes.data() + 12) != 1) return std::nullopt;
  return parsed;
}

bool same_bits(const std::array<std::uint8_t, 16>& a, const std::array<std::uint8_t, 16>& b,
               int from, int to) {
  for (int bit = from; bit < to; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((a[byte] ^ b[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<Parsed> address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network{address->bytes, kBits};
  if (slash == std::string_view::npos) return network;
  const std::string_view digits = text.substr(slash + 1);
  int bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits < 0) return std::nullopt;
  network.bits = bits + (address->is_ipv4 ? kBitsBeforeIpv4 : 0);
  if (network.bits > kBits) return std::nullopt;
  if (!same_bits(network.address, {}, network.bits, kBits)) return std::nullopt;
  return network;
}

bool network_holds(const Network& network, std::string_view address) {
  const std::optional<Parsed> parsed = parse_address(address);
  return parsed && same_bits(network.address, parsed->bytes, 0, network.bits);
}

}  // namespace dove::text
