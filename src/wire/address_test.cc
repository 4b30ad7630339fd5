#include "wire/address.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(Network, of_an_ipv4_address_is_itself) {
  EXPECT_EQ(network_of("192.0.2.7:40122"), "192.0.2.7");
  EXPECT_EQ(network_of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(network_of("[::ffff:192.0.2.7]:40122"), "192.0.2.7");
  EXPECT_EQ(network_of("[::ffff:127.0.0.1]:1"), "127.0.0.1");
}

TEST(Network, of_ipv6_is_the_first_half) {
  EXPECT_EQ(network_of("[2001:db8:0:7::1]:40122"), "2001:db8:0:7::/64");
  EXPECT_EQ(network_of("[2001:db8:0:7:ffff:ffff:ffff:ffff]:1"), "2001:db8:0:7::/64");
  EXPECT_EQ(network_of("[2001:db8:0:7::1]"), "2001:db8:0:7::/64");
  EXPECT_NE(network_of("[2001:db8:0:8::1]:1"), network_of("[2001:db8:0:7::1]:1"));
  EXPECT_EQ(network_of("[fe80::1%eth0]:1"), "fe80::/64");
}

TEST(Network, of_what_is_no_address_is_the_text) {
  EXPECT_EQ(network_of("[::1]:40122"), "::1");
  EXPECT_EQ(network_of("unknown"), "unknown");
  EXPECT_EQ(network_of("[x]:1"), "x");
}

}  // namespace
}  // namespace dove::wire
