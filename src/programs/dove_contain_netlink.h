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

class Netlink {
 public:
  Netlink();  // broken() tells whether that failed
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  bool broken() const { return fd_ < 0; }
  bool add_vxlan(const Vxlan& vxlan);
  bool set_up(int link);
  bool add_address(int link, std::uint32_t address, int prefix);
  bool add_neighbour(int link, std::uint32_t address, const LinkAddress& mac);
  // Frames to `mac` travel to the machine `underlay`.
  bool add_way(int link, const LinkAddress& mac, std::uint32_t underlay);

 private:
  bool ask(nlmsghdr& request);
  int fd_ = -1;
};

}  // namespace dove::contain
