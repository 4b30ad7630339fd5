// Listeners: the listening TCP sockets of a network, as /proc/net/tcp lists them. Pure.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dove::agent {

struct Listener {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> address{};  // in network order; of IPv4 the first four
  std::uint16_t port = 0;
  std::uint64_t inode = 0;  // of the socket: unique as long as it is there
};

// Those in the text of /proc/PID/net/tcp, or with `is_v6` of tcp6. Lines that cannot be read are
// none.
std::vector<Listener> read_listeners(std::string_view text, bool is_v6);

// "socket:[4711]": 4711; of anything else 0.
std::uint64_t socket_inode(std::string_view link);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text() const;
};

// Where in this network a connection to the port reaches a socket among `own`, and no other: to be
// tried in this order. `all`: every listener of the network.
std::vector<SocketAddress> port_addresses(const std::vector<Listener>& all,
                                          const std::set<std::uint64_t>& own, std::uint16_t port);

}  // namespace dove::agent
