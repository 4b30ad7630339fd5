#include "programs/dove_contain_netlink.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dove::contain {
namespace {

constexpr std::uint16_t kVxlanPort = 4789;

// A request being written: a header, its fixed part, attributes.
template <class Fixed>
class Request {
 public:
  Request(std::uint16_t type, std::uint16_t flags) {
    header().nlmsg_len = NLMSG_LENGTH(sizeof(Fixed));
    header().nlmsg_type = type;
    header().nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  }
  nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes_); }
  Fixed& fixed() { return *reinterpret_cast<Fixed*>(NLMSG_DATA(&header())); }

  void add(std::uint16_t type, const void* data, std::size_t size) {
    rtattr* const attribute = begin(type);
    std::memcpy(RTA_DATA(attribute), data, size);
    header().nlmsg_len += static_cast<std::uint32_t>(RTA_SPACE(size) - RTA_SPACE(0));
    attribute->rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
  }
  template <class Value>
  void add(std::uint16_t type, const Value& value) {
    add(type, &value, sizeof value);
  }
  void add_text(std::uint16_t type, const char* text) { add(type, text, std::strlen(text) + 1); }
  // What is added until end() is inside it.
  rtattr* begin(std::uint16_t type) {
    auto* const attribute = reinterpret_cast<rtattr*>(bytes_ + NLMSG_ALIGN(header().nlmsg_len));
    attribute->rta_type = type;
    header().nlmsg_len = static_cast<std::uint32_t>(NLMSG_ALIGN(header().nlmsg_len) + RTA_SPACE(0));
    return attribute;
  }
  void end(rtattr* attribute) {
    attribute->rta_len = static_cast<std::uint16_t>(bytes_ + header().nlmsg_len -
                                                    reinterpret_cast<unsigned char*>(attribute));
  }

 private:
  alignas(nlmsghdr) unsigned char bytes_[512] = {};
};

}  // namespace

Netlink::Netlink() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}

Netlink::~Netlink() {
  if (fd_ >= 0) ::close(fd_);
}

bool Netlink::ask(nlmsghdr& request) {
  if (::send(fd_, &request, request.nlmsg_len, 0) < 0) return false;
  alignas(nlmsghdr) unsigned char bytes[4096];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got < 0) return false;
  const auto* const answer = reinterpret_cast<const nlmsghdr*>(bytes);
  if (static_cast<std::size_t>(got) < NLMSG_LENGTH(sizeof(nlmsgerr)) ||
      answer->nlmsg_type != NLMSG_ERROR) {
    errno = EPROTO;
    return false;
  }
  errno = -reinterpret_cast<const nlmsgerr*>(NLMSG_DATA(answer))->error;
  return errno == 0;
}

bool Netlink::add_vxlan(const Vxlan& vxlan) {
  Request<ifinfomsg> request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  request.fixed().ifi_family = AF_UNSPEC;
  request.add_text(IFLA_IFNAME, vxlan.name.c_str());
  request.add(IFLA_ADDRESS, vxlan.mac, sizeof vxlan.mac);
  request.add(IFLA_MTU, vxlan.mtu);
  request.add(IFLA_NET_NS_FD, vxlan.in_namespace);
  rtattr* const info = request.begin(IFLA_LINKINFO);
  request.add_text(IFLA_INFO_KIND, "vxlan");
  rtattr* const data = request.begin(IFLA_INFO_DATA);
  request.add(IFLA_VXLAN_ID, vxlan.number);
  request.add(IFLA_VXLAN_LOCAL, vxlan.local);
  request.add(IFLA_VXLAN_PORT, htons(kVxlanPort));
  request.add(IFLA_VXLAN_LEARNING, std::uint8_t{0});
  request.end(data);
  request.end(info);
  return ask(request.header());
}

bool Netlink::set_up(int link) {
  Request<ifinfomsg> request(RTM_NEWLINK, 0);
  request.fixed().ifi_family = AF_UNSPEC;
  request.fixed().ifi_index = link;
  request.fixed().ifi_flags = IFF_UP;
  request.fixed().ifi_change = IFF_UP;
  return ask(request.header());
}

bool Netlink::add_address(int link, std::uint32_t address, int prefix) {
  Request<ifaddrmsg> request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  request.fixed().ifa_family = AF_INET;
  request.fixed().ifa_prefixlen = static_cast<std::uint8_t>(prefix);
  request.fixed().ifa_index = static_cast<std::uint32_t>(link);
  request.add(IFA_LOCAL, address);
  request.add(IFA_ADDRESS, address);
  return ask(request.header());
}

bool Netlink::add_neighbour(int link, std::uint32_t address, const LinkAddress& mac) {
  Request<ndmsg> request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL);
  request.fixed().ndm_family = AF_INET;
  request.fixed().ndm_ifindex = link;
  request.fixed().ndm_state = NUD_PERMANENT;
  request.add(NDA_DST, address);
  request.add(NDA_LLADDR, mac, sizeof mac);
  return ask(request.header());
}

bool Netlink::add_way(int link, const LinkAddress& mac, std::uint32_t underlay) {
  Request<ndmsg> request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
  request.fixed().ndm_family = AF_BRIDGE;
  request.fixed().ndm_ifindex = link;
  request.fixed().ndm_state = NUD_PERMANENT | NUD_NOARP;
  request.fixed().ndm_flags = NTF_SELF;
  request.add(NDA_LLADDR, mac, sizeof mac);
  request.add(NDA_DST, underlay);
  return ask(request.header());
}

}  // namespace dove::contain
