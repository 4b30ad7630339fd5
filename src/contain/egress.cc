#include "contain/egress.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "containers/egress.h"
#include "containers/place.h"

namespace dove::contain {
namespace {

constexpr LinkAddress kMachineMac = {0x02, 0x64, 0, 0, 0, 1};
constexpr LinkAddress kInsideMac = {0x02, 0x64, 0, 0, 0, 2};
constexpr std::uint32_t kOutFirst = 0x6470'0000;  // containers::kOutRange
constexpr std::uint32_t kOutCount = 1U << 20;
constexpr std::uint32_t kTaken = 2;  // the network's own and the gateway
constexpr int kMtuUsual = 1500;
constexpr unsigned kRun_s = 20;

std::uint32_t gateway() {
  in_addr address{};
  ::inet_pton(AF_INET, containers::kGateway, &address);
  return address.s_addr;
}

bool read_destination(std::istream& words, Destination& out) {
  std::string word;
  if (!(words >> word)) return false;
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) return false;
  in_addr address{};
  if (::inet_pton(AF_INET, word.substr(0, slash).c_str(), &address) != 1) return false;
  out.address = address.s_addr;
  out.prefix = std::atoi(word.c_str() + slash + 1);
  return true;
}

bool read_rest(std::istream& words, std::string& out) {
  return static_cast<bool>(std::getline(words >> std::ws, out));
}

std::uint32_t mtu_outside() {
  std::ifstream lines("/proc/net/route");
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    ifreq asked{};
    std::string name;
    std::string destination;
    if (!(words >> name >> destination) || destination != "00000000") continue;
    std::strncpy(asked.ifr_name, name.c_str(), IFNAMSIZ - 1);
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = fd >= 0 && ::ioctl(fd, SIOCGIFMTU, &asked) == 0;
    if (fd >= 0) ::close(fd);
    if (known) return static_cast<std::uint32_t>(asked.ifr_mtu);
  }
  return kMtuUsual;
}

int lock(const std::string& rules) {
  const int fd = ::open((rules + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && ::flock(fd, LOCK_EX) == 0) return fd;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  errno = reason;
  return -1;
}

bool has_devices(const std::string& prefix) {
  struct if_nameindex* const all = ::if_nameindex();
  if (all == nullptr) return true;  // nobody knows
  bool found = false;
  for (const struct if_nameindex* one = all; one->if_index != 0; ++one) {
    if (std::string(one->if_name).starts_with(prefix)) found = true;
  }
  ::if_freenameindex(all);
  return found;
}

Veth pair(const std::string& device, std::uint32_t mtu, int in_namespace) {
  Veth veth;
  veth.name = device + "%d";
  veth.inside = containers::kEgressDevice;
  std::copy(std::begin(kMachineMac), std::end(kMachineMac), std::begin(veth.mac));
  std::copy(std::begin(kInsideMac), std::end(kInsideMac), std::begin(veth.mac_inside));
  veth.mtu = mtu;
  veth.in_namespace = in_namespace;
  return veth;
}

// The pair and the machine's end of it; the address inside follows from that end's number, so no
// two have the same. 0 and errno.
std::uint32_t add_pair(Machine& machine, Netlink& inside, const Egress& egress, int here) {
  Netlink& outside = machine.links();
  if (!outside.add_veth(pair(egress.device, machine.mtu_out(), here))) return 0;
  const auto device = static_cast<int>(::if_nametoindex(containers::kEgressDevice));
  const int other = device == 0 ? 0 : inside.other_end(device);
  if (other == 0 || !outside.let_pass(other) || !outside.keep_from_ipv6(other) ||
      !outside.set_up(other)) {
    return 0;
  }
  const std::uint32_t number = static_cast<std::uint32_t>(other) % kOutCount;
  const std::uint32_t address = htonl(kOutFirst + number);
  if (number < kTaken) {
    errno = EADDRINUSE;
    return 0;
  }
  if (!outside.add_route(other, {address, 32}, 0, 0) ||
      !outside.add_neighbour(other, address, kInsideMac)) {
    return 0;
  }
  return address;
}

}  // namespace

bool read_egress(std::istream& words, const std::string& kind, Egress& egress) {
  if (kind == "way") return static_cast<bool>(words >> egress.device >> egress.table);
  if (kind == "nft") return read_rest(words, egress.nft);
  if (kind == "rules") return read_rest(words, egress.rules);
  if (kind == "route") return read_destination(words, egress.routes.emplace_back());
  return kind == "closed" && read_destination(words, egress.closed.emplace_back());
}

Machine::Machine()
    : space_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)),
      filters_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER)),
      mtu_out_(mtu_outside()) {}

Machine::~Machine() {
  for (const int fd : {space_, filters_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool Machine::has_table(const std::string& name) {
  alignas(nlmsghdr) unsigned char bytes[4096] = {};
  auto* const request = reinterpret_cast<nlmsghdr*>(bytes);
  request->nlmsg_type = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETTABLE;
  request->nlmsg_flags = NLM_F_REQUEST;
  reinterpret_cast<nfgenmsg*>(NLMSG_DATA(request))->nfgen_family = NFPROTO_INET;
  auto* const named = reinterpret_cast<rtattr*>(bytes + NLMSG_LENGTH(sizeof(nfgenmsg)));
  named->rta_type = NFTA_TABLE_NAME;
  named->rta_len = static_cast<std::uint16_t>(RTA_LENGTH(name.size() + 1));
  std::memcpy(RTA_DATA(named), name.c_str(), name.size() + 1);
  request->nlmsg_len =
      static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(nfgenmsg)) + RTA_SPACE(name.size() + 1));
  if (::send(filters_, request, request->nlmsg_len, 0) < 0) return false;
  const ssize_t got = ::recv(filters_, bytes, sizeof bytes, 0);
  return got >= static_cast<ssize_t>(sizeof(nlmsghdr)) && request->nlmsg_type != NLMSG_ERROR;
}

int Machine::run(const std::vector<std::string>& argv) const {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kRun_s);  // others wait for the lock; it holds for what is executed, too
    if (::setns(space_, CLONE_NEWNET) == 0) ::execv(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string make_egress(Machine& machine, const Egress& egress, int here) {
  const int locked = lock(egress.rules);
  if (locked < 0) return "lock " + egress.rules;
  std::string what;
  if (!machine.has_table(egress.table) && machine.run({egress.nft, "-f", egress.rules}) != 0) {
    errno = EINVAL;
    what = "give nftables the rules of gangs' networks (nft -f " + egress.rules + " says why)";
  }
  Netlink inside;
  std::uint32_t address = 0;
  if (what.empty()) {
    address = add_pair(machine, inside, egress, here);
    if (address == 0) what = "make the gang's egress";
  }
  const int reason = errno;
  ::close(locked);
  errno = reason;
  if (!what.empty()) return what;
  const auto device = static_cast<int>(::if_nametoindex(containers::kEgressDevice));
  if (!inside.add_address(device, address, 32) || !inside.keep_from_ipv6(device) ||
      !inside.set_up(device) || !inside.add_neighbour(device, gateway(), kMachineMac) ||
      !inside.add_route(device, {gateway(), 32}, 0, address)) {
    return "set up the gang's egress";
  }
  for (const Destination& to : egress.routes) {
    if (!inside.add_route(device, to, gateway(), address) && errno != EEXIST) {
      return "write down a route of the gang";
    }
  }
  for (const Destination& to : egress.closed) {
    if (!inside.close_route(to)) return "close a route of the gang";
  }
  return "";
}

int end_egress(char** words) {
  const std::string table = words[1];
  const int locked = lock(words[3]);
  if (locked < 0) return 1;
  Machine machine;
  if (machine.broken()) return 1;
  if (has_devices(words[2]) || !machine.has_table(table)) return 0;
  return machine.run({words[0], "delete", "table", "inet", table}) == 0 ? 0 : 1;
}

int try_egress(char** words) {
  if (::unshare(CLONE_NEWNET) != 0) return 0;
  Machine own;
  const int here = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (own.broken() || here < 0) return 0;
  Vxlan vxlan;
  vxlan.name = "probe";
  vxlan.number = 1;
  vxlan.mtu = kMtuUsual;
  std::copy(std::begin(kInsideMac), std::end(kInsideMac), std::begin(vxlan.mac));
  vxlan.in_namespace = here;
  int can = 0;
  if (own.links().add_veth(pair("probe", kMtuUsual, here)) &&
      own.run({words[0], "-f", words[1]}) == 0) {
    can += containers::kEgress;
  }
  if (own.links().add_vxlan(vxlan)) can += containers::kVxlans;
  return can;
}

}  // namespace dove::contain
