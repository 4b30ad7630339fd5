#include "text/network.h"

#include <gtest/gtest.h>

namespace dove::text {
namespace {

bool holds(std::string_view network, std::string_view address) {
  const auto parsed = parse_network(network);
  EXPECT_TRUE(parsed.has_value()) << network;
  return parsed && network_holds(*parsed, address);
}

TEST(Network, HoldsTheAddressesOfItsPrefix) {
  EXPECT_TRUE(holds("10.0.0.0/16", "10.0.255.7"));
  EXPECT_FALSE(holds("10.0.0.0/16", "10.1.0.7"));
  EXPECT_TRUE(holds("10.0.4.0/22", "10.0.7.255"));
  EXPECT_FALSE(holds("10.0.4.0/22", "10.0.8.0"));
  EXPECT_TRUE(holds("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(holds("10.0.0.7", "10.0.0.8"));
  EXPECT_TRUE(holds("2001:db8::/32", "2001:db8:7::1"));
  EXPECT_FALSE(holds("2001:db8::/32", "2001:db9::1"));
  EXPECT_TRUE(holds("0.0.0.0/0", "192.0.2.1"));
  EXPECT_FALSE(holds("0.0.0.0/0", "2001:db8::1")) << "IPv4 alone";
}

TEST(Network, KnowsAnIpv4AddressThatASocketOfIpv6Shows) {
  EXPECT_TRUE(holds("10.0.0.0/16", "::ffff:10.0.0.7"));
  EXPECT_FALSE(holds("10.0.0.0/16", "::ffff:10.1.0.7"));
}

TEST(Network, WhatIsNoAddressIsInNone) {
  for (const char* address : {"", "localhost", "10.0.0", "10.0.0.7:80", "[::1]"}) {
    EXPECT_FALSE(holds("0.0.0.0/0", address)) << address;
    EXPECT_FALSE(holds("::/0", address)) << address;
  }
}

TEST(Network, RefusesWhatIsMalformed) {
  for (const char* text : {"", "/16", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/1x",
                           "10.0.0.1/16", "::1/64", "::/129", "gpu-001", "10.0.0.0 /16"}) {
    EXPECT_FALSE(parse_network(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace dove::text
