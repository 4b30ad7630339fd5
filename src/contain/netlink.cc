#include "contain/netlink.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dove::contain {
namespace {

constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint32_t kLastResort = 1000;  // metric of a closed route

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
  void skip(std::size_t size) {  // of zeros
    header().nlmsg_len += static_cast<std::uint32_t>(NLMSG_ALIGN(size));
  }
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

Request<ifinfomsg> change_of(int link) {
  Request<ifinfomsg> request(RTM_NEWLINK, 0);
  request.fixed().ifi_family = AF_UNSPEC;
  request.fixed().ifi_index = link;
  return request;
}

Request<rtmsg> route_to(Destination to, unsigned char type) {
  Request<rtmsg> request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
  request.fixed().rtm_family = AF_INET;
  request.fixed().rtm_dst_len = static_cast<unsigned char>(to.prefix);
  request.fixed().rtm_table = RT_TABLE_MAIN;
  request.fixed().rtm_protocol = RTPROT_STATIC;
  request.fixed().rtm_type = type;
  request.add(RTA_DST, to.address);
  return request;
}

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

bool Netlink::add_veth(const Veth& veth) {
  Request<ifinfomsg> request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  request.fixed().ifi_family = AF_UNSPEC;
  request.add_text(IFLA_IFNAME, veth.name.c_str());
  request.add(IFLA_ADDRESS, veth.mac, sizeof veth.mac);
  request.add(IFLA_MTU, veth.mtu);
  rtattr* const info = request.begin(IFLA_LINKINFO);
  request.add_text(IFLA_INFO_KIND, "veth");
  rtattr* const data = request.begin(IFLA_INFO_DATA);
  rtattr* const peer = request.begin(VETH_INFO_PEER);
  request.skip(sizeof(ifinfomsg));
  request.add_text(IFLA_IFNAME, veth.inside.c_str());
  request.add(IFLA_ADDRESS, veth.mac_inside, sizeof veth.mac_inside);
  request.add(IFLA_MTU, veth.mtu);
  request.add(IFLA_NET_NS_FD, veth.in_namespace);
  request.end(peer);
  request.end(data);
  request.end(info);
  return ask(request.header());
}

int Netlink::other_end(int link) {
  Request<ifinfomsg> request(RTM_GETLINK, 0);
  request.header().nlmsg_flags = NLM_F_REQUEST;
  request.fixed().ifi_index = link;
  if (::send(fd_, &request.header(), request.header().nlmsg_len, 0) < 0) return 0;
  alignas(nlmsghdr) unsigned char bytes[16'384];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got < 0) return 0;
  auto* const answer = reinterpret_cast<nlmsghdr*>(bytes);
  errno = EPROTO;
  if (!NLMSG_OK(answer, static_cast<std::size_t>(got)) || answer->nlmsg_type != RTM_NEWLINK) {
    return 0;
  }
  auto* const facts = reinterpret_cast<ifinfomsg*>(NLMSG_DATA(answer));
  auto left = static_cast<int>(IFLA_PAYLOAD(answer));
  for (rtattr* one = IFLA_RTA(facts); RTA_OK(one, left); one = RTA_NEXT(one, left)) {
    int other = 0;
    if (one->rta_type != IFLA_LINK || RTA_PAYLOAD(one) < sizeof other) continue;
    std::memcpy(&other, RTA_DATA(one), sizeof other);
    return other;
  }
  return 0;
}

bool Netlink::let_pass(int link) {
  Request<ifinfomsg> request = change_of(link);
  rtattr* const families = request.begin(IFLA_AF_SPEC);
  rtattr* const ipv4 = request.begin(AF_INET);
  rtattr* const settings = request.begin(IFLA_INET_CONF);
  for (const int one :
       {IPV4_DEVCONF_FORWARDING, IPV4_DEVCONF_RP_FILTER, IPV4_DEVCONF_ROUTE_LOCALNET}) {
    request.add(static_cast<std::uint16_t>(one), std::uint32_t{1});
  }
  request.end(settings);
  request.end(ipv4);
  request.end(families);
  return ask(request.header());
}

bool Netlink::keep_from_ipv6(int link) {
  Request<ifinfomsg> request = change_of(link);
  rtattr* const families = request.begin(IFLA_AF_SPEC);
  rtattr* const ipv6 = request.begin(AF_INET6);
  request.add(IFLA_INET6_ADDR_GEN_MODE, std::uint8_t{IN6_ADDR_GEN_MODE_NONE});
  request.end(ipv6);
  request.end(families);
  return ask(request.header()) || errno == EAFNOSUPPORT;  // the kernel has none
}

bool Netlink::set_up(int link) {
  Request<ifinfomsg> request = change_of(link);
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

bool Netlink::add_route(int link, Destination to, std::uint32_t gateway, std::uint32_t source) {
  Request<rtmsg> request = route_to(to, RTN_UNICAST);
  request.fixed().rtm_scope = gateway == 0 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  request.add(RTA_OIF, link);
  if (gateway != 0) request.add(RTA_GATEWAY, gateway);
  if (source != 0) request.add(RTA_PREFSRC, source);
  return ask(request.header());
}

bool Netlink::close_route(Destination to) {
  Request<rtmsg> request = route_to(to, RTN_PROHIBIT);
  request.fixed().rtm_scope = RT_SCOPE_UNIVERSE;
  request.add(RTA_PRIORITY, kLastResort);
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
