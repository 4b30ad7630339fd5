#include "wire/outside/networks.h"

#include <gtest/gtest.h>

namespace dove::wire {
namespace {

TEST(Networks, PublicAddressesAlone) {
  const Networks networks;
  for (const char* address :
       {"1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "192.167.255.255",
        "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"}) {
    EXPECT_TRUE(networks.permits(address)) << address;
  }
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.254",
                              "169.254.169.254",
                              "169.254.170.2",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.192",
                              "192.0.2.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.7",
                              "203.0.113.9",
                              "224.0.0.1",
                              "239.255.255.255",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::7f00:1",
                              "fe80::1",
                              "fec0::1",
                              "fc00::1",
                              "fd00:ec2::254",
                              "ff02::1",
                              "2001::1",
                              "2001:db8::1",
                              "2002:7f00:1::1",
                              "3fff::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::ffff:169.254.169.254",
                              "64:ff9b::7f00:1",
                              "64:ff9b::a9fe:a9fe",
                              "64:ff9b:1::1",
                              "100::1",
                              "5f00::1",
                              "localhost",
                              "",
                              "127.1",
                              "0x7f.0.0.1",
                              "2130706433"}) {
    EXPECT_FALSE(networks.permits(address)) << address;
  }
}

TEST(Networks, TheSiteAllowsMore) {
  Networks networks;
  ASSERT_TRUE(networks.allow("10.20.0.0/15").ok());
  ASSERT_TRUE(networks.allow("127.0.0.1").ok());
  ASSERT_TRUE(networks.allow("fd00:1::/33").ok());
  EXPECT_TRUE(networks.permits("10.21.255.1"));
  EXPECT_TRUE(networks.permits("::ffff:10.20.0.1"));
  EXPECT_FALSE(networks.permits("10.22.0.1"));
  EXPECT_TRUE(networks.permits("127.0.0.1"));
  EXPECT_FALSE(networks.permits("127.0.0.2"));
  EXPECT_TRUE(networks.permits("fd00:1:7fff::1"));
  EXPECT_FALSE(networks.permits("fd00:1:8000::1"));
  for (const char* network : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "corp",
                              "fd00::/129", "10.0.0/8"}) {
    EXPECT_FALSE(networks.allow(network).ok()) << network;
  }
}

}  // namespace
}  // namespace dove::wire
