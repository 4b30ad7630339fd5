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

TEST(Address, KnowsWhatStaysOnThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.10", "::1", "0.0.0.0", "::"}) {
    EXPECT_TRUE(is_this_machine(host)) << host;
  }
  for (const char* host :
       {"head", "127.example.org", "localhost.example.org", "10.0.0.1", "::2", "128.0.0.1", ""}) {
    EXPECT_FALSE(is_this_machine(host)) << host;
  }
}

TEST(Address, SecretsAreShownToNobodyInTheClear) {
  for (const char* urls : {"https://head:7717", "http://127.0.0.1:7717", "http://[::1]:7717/dove",
                           "http://localhost,https://head", "no URL"}) {
    EXPECT_TRUE(may_show_secrets(urls, false).ok()) << urls;
  }
  for (const char* urls : {"http://head", "http://127.example.org:1", "http://[fe80::1]:7717",
                           "http://localhost,http://head", "https://head,http://other:7717"}) {
    const Result<void> may = may_show_secrets(urls, false);
    ASSERT_FALSE(may.ok()) << urls;
    EXPECT_EQ(may.error().code, "insecure_url");
    EXPECT_NE(may.error().message.find("DOVE_INSECURE=1"), std::string::npos);
    EXPECT_TRUE(may_show_secrets(urls, true).ok()) << urls;
  }
}

}  // namespace
}  // namespace dove::wire
