// Netlink: the kernel's table of links, addresses and neighbours of one network namespace.
//
// Each call is one acknowledged request; false leaves errno. A socket speaks for the namespace that
// it was made in, whichever the process is in later. Sources: rtnetlink(7), linux/if_link.h.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace dove::contain {

using LinkAddress = unsigned char[6];

struct Vxlan {
  std::string name;
  std::uint32_t number = 0;
  std::uint32_t local = 0;  // network byte order, as are all addresses here
  std::uint32_t mtu = 0;
  LinkAddress mac = {};
  int in_namespace = -1;  // where the device appears; its packets travel in the socket's own
};

// Two devices; what one sends the other receives.
struct Veth {
  std::string name;    // "dv%d": the kernel finds a number
  std::string inside;  // the other's
  LinkAddress mac = {};
  LinkAddress mac_inside = {};
  std::uint32_t mtu = 0;
  int in_namespace = -1;  // where the other one appears
};

struct Destination {
  std::uint32_t address = 0;
  int prefix = 32;
};

class Netlink {
 public:
  Netlink();  // broken() tells whether that failed
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  bool broken() const { return fd_ < 0; }
  bool add_vxlan(const Vxlan& vxlan);
  bool add_veth(const Veth& veth);
  // The other one's number, in its own namespace; 0 and errno.
  int other_end(int link);
  bool set_up(int link);
  // It passes on what it receives, to the machine's loopback too, if answers go back through it.
  bool let_pass(int link);
  // It gets no address of IPv6 by itself.
  bool keep_from_ipv6(int link);
  bool add_address(int link, std::uint32_t address, int prefix);
  bool add_neighbour(int link, std::uint32_t address, const LinkAddress& mac);
  // `gateway` 0: the destination is on the link. `source` 0: the kernel's choice.
  bool add_route(int link, Destination to, std::uint32_t gateway, std::uint32_t source);
  // Who goes there is told that it is prohibited, unless a shorter way is known.
  bool close_route(Destination to);
  // Frames to `mac` travel to the machine `underlay`.
  bool add_way(int link, const LinkAddress& mac, std::uint32_t underlay);

 private:
  bool ask(nlmsghdr& request);
  int fd_ = -1;
};

}  // namespace dove::contain
