#include "cli/client/local_peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace dove::cli {
namespace {

std::string row(const std::string& local, const std::string& remote, int uid, int inode) {
  return "   0: " + local + " " + remote + " 01 00000000:00000000 00:00000000 00000000 " +
         std::to_string(uid) + "        0 " + std::to_string(inode) + " 1 000000009c16f3dc 100\n";
}

TEST(FindOwner, OfTheSocketWithTheseEnds) {
  const std::string table = "  sl  local_address rem_address\n" +
                            row("0100007F:1F90", "0100007F:A000", 1001, 7) +
                            row("0100007F:A000", "0100007F:1F90", 1002, 8);
  EXPECT_EQ(find_owner(table, "0100007F:A000", "0100007F:1F90"), std::optional<uid_t>(1002));
  EXPECT_EQ(find_owner(table, "0100007F:A000", "0100007F:1F91"), std::nullopt);
  EXPECT_EQ(find_owner("", "0100007F:A000", "0100007F:1F90"), std::nullopt);
}

TEST(FindOwner, ASocketThatNobodyHoldsIsNobodys) {
  const std::string table = row("0100007F:A000", "0100007F:1F90", 0, 0);
  EXPECT_EQ(find_owner(table, "0100007F:A000", "0100007F:1F90"), std::nullopt);
}

TEST(FindOwner, LinesThatCannotBeReadAreSkipped) {
  EXPECT_EQ(find_owner("x\n\n0: a b\n", "a", "b"), std::nullopt);
  EXPECT_EQ(find_owner("0: a b 01 c d e uid f 7 1\n", "a", "b"), std::nullopt);
}

// Our own connections over loopback, of either version of IP.
TEST(OwnerOfPeer, IsThisUserOfAConnectionOfThisProcess) {
  for (const int family : {AF_INET, AF_INET6}) {
    sockaddr_storage name{};
    name.ss_family = static_cast<sa_family_t>(family);
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&name);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&name);
    if (family == AF_INET) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (family == AF_INET6) v6->sin6_addr = in6addr_loopback;
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const int listener = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&name), size) != 0) {
      ::close(listener);
      continue;  // no IPv6 here
    }
    ASSERT_EQ(::listen(listener, 1), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size), 0);
    const int client = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&name), size), 0);
    const int accepted = ::accept(listener, nullptr, nullptr);
    EXPECT_EQ(owner_of_peer(accepted), std::optional<uid_t>(::geteuid()));
    ::close(client);
    EXPECT_EQ(owner_of_peer(accepted), std::nullopt) << "nobody is there any more";
    for (const int fd : {listener, accepted}) ::close(fd);
  }
}

// However many connections the machine carries besides: reading all of them took 30 ms each time.
TEST(OwnerOfPeer, IsFoundWhileOtherConnectionsComeAndGo) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&name), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &size), 0);
  std::atomic<bool> over = false;
  std::thread others([&over] {
    sockaddr_in theirs{};
    theirs.sin_family = AF_INET;
    theirs.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof theirs;
    auto* const at = reinterpret_cast<sockaddr*>(&theirs);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(server, at, length) != 0 || ::listen(server, 128) != 0) return;
    ::getsockname(server, at, &length);
    while (!over) {
      std::vector<int> fds;
      for (int each = 0; each < 100; ++each) {
        fds.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(fds.back(), at, length) == 0)
          fds.push_back(::accept(server, nullptr, nullptr));
      }
      for (const int fd : fds) ::close(fd);
    }
    ::close(server);
  });
  int found = 0;
  constexpr int kLooks = 300;
  for (int look = 0; look < kLooks; ++look) {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&name), size), 0);
    const int accepted = ::accept(listener, nullptr, nullptr);
    found += owner_of_peer(accepted) == std::optional<uid_t>(::geteuid()) ? 1 : 0;
    for (const int fd : {client, accepted}) ::close(fd);
  }
  over = true;
  others.join();
  ::close(listener);
  EXPECT_EQ(found, kLooks);
}

}  // namespace
}  // namespace dove::cli
