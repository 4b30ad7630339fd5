#include "agent/forward/listeners.h"

#include <gtest/gtest.h>

namespace dove::agent {
namespace {

constexpr char kHead[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

std::string row(const std::string& local, const std::string& state, int inode) {
  return "   0: " + local + " 00000000:0000 " + state +
         " 00000000:00000000 00:00000000 00000000  1000        0 " + std::to_string(inode) +
         " 1 000000009c16f3dc 100 0 0 10 0\n";
}

std::vector<std::string> texts(const std::vector<SocketAddress>& addresses) {
  std::vector<std::string> found;
  for (const SocketAddress& each : addresses) found.push_back(each.text());
  return found;
}

using Texts = std::vector<std::string>;

const std::string kZeros6(32, '0');
const std::string kLoopback6 = "00000000000000000000000001000000";
const std::string kMapped = "0000000000000000FFFF00000100007F";

TEST(Listeners, AreTheSocketsThatListen) {
  const auto found =
      read_listeners(kHead + row("0100007F:1F90", "0A", 11) + row("0100007F:1F91", "01", 12) +
                         row("00000000:0016", "0A", 13) + row("0100007F:1F92", "0A", 0),
                     false);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].port, 8080);
  EXPECT_EQ(found[0].inode, 11u);
  EXPECT_EQ(found[0].address[0], 127);
  EXPECT_EQ(found[0].address[3], 1);
  EXPECT_EQ(found[1].port, 22);
}

TEST(Listeners, LinesThatCannotBeReadAreNone) {
  for (const std::string text :
       {"", "\n\n", "x y z", "   0: 0100007F:1F90", "0: 0100007F1F90 a 0A b c d e f 7",
        "0: 0100007F:1F90 a 0A b c d e f x", "0: 010000ZZ:1F90 a 0A b c d e f 7"}) {
    EXPECT_TRUE(read_listeners(text, false).empty()) << text;
    EXPECT_TRUE(read_listeners(text, true).empty()) << text;
  }
}

TEST(Listeners, InodeOfASocketsLink) {
  EXPECT_EQ(socket_inode("socket:[4711]"), 4711u);
  for (const char* link :
       {"", "socket:[", "socket:[]", "socket:[x]", "pipe:[4711]", "/etc/passwd"}) {
    EXPECT_EQ(socket_inode(link), 0u) << link;
  }
}

TEST(PortAddresses, AnOwnListenerIsReachedWhereItListens) {
  auto all = read_listeners(row("00000000:1F90", "0A", 1) + row("0200000A:1F91", "0A", 2), false);
  EXPECT_EQ(texts(port_addresses(all, {1, 2}, 8080)), Texts{"127.0.0.1:8080"});
  EXPECT_EQ(texts(port_addresses(all, {1, 2}, 8081)), Texts{"10.0.0.2:8081"});
  EXPECT_TRUE(port_addresses(all, {1, 2}, 8082).empty());
}

TEST(PortAddresses, AStrangersPortIsNotReached) {
  const auto all = read_listeners(row("0100007F:1F90", "0A", 1), false);
  EXPECT_TRUE(port_addresses(all, {}, 8080).empty());
  EXPECT_TRUE(port_addresses(all, {2}, 8080).empty());
}

TEST(PortAddresses, APortSharedWithAStrangerIsNotReached) {
  const auto all =
      read_listeners(row("0100007F:1F90", "0A", 1) + row("0100007F:1F90", "0A", 2), false);
  EXPECT_TRUE(port_addresses(all, {1}, 8080).empty());
  EXPECT_FALSE(port_addresses(all, {1, 2}, 8080).empty());
}

TEST(PortAddresses, Version6BothWaysUnlessVersion4IsAStrangers) {
  auto all = read_listeners(row(kZeros6 + ":1F90", "0A", 1), true);
  EXPECT_EQ(texts(port_addresses(all, {1}, 8080)), (Texts{"[::1]:8080", "127.0.0.1:8080"}));
  const auto other = read_listeners(row("0100007F:1F90", "0A", 2), false);
  all.insert(all.end(), other.begin(), other.end());
  EXPECT_EQ(texts(port_addresses(all, {1}, 8080)), Texts{"[::1]:8080"});
}

TEST(PortAddresses, Version6LoopbackAndMappedAddresses) {
  auto all =
      read_listeners(row(kLoopback6 + ":1F90", "0A", 1) + row(kMapped + ":1F91", "0A", 2), true);
  EXPECT_EQ(texts(port_addresses(all, {1, 2}, 8080)), Texts{"[::1]:8080"});
  EXPECT_EQ(texts(port_addresses(all, {1, 2}, 8081)), Texts{"127.0.0.1:8081"});
}

}  // namespace
}  // namespace dove::agent
