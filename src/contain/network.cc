#include "contain/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

#include "contain/egress.h"
#include "contain/netlink.h"

namespace dove::contain {
namespace {

constexpr char kDevice[] = "gang0";
constexpr int kLoopback = 1;
constexpr int kPrefix = 10;
constexpr int kVxlanOverhead_bytes = 50;
constexpr int kMtuMin_bytes = 576;
// A former attempt's device is gone soon after its last process, when the kernel gets to it.
constexpr int kBusyTries = 100;
constexpr timespec kBusyWait{0, 50'000'000};
constexpr int kBacklog = 128;

struct Peer {
  std::uint32_t address = 0;
  std::uint32_t underlay = 0;
  LinkAddress mac = {};
};

struct Plan {
  std::uint32_t number = 0;
  std::uint32_t local = 0;
  LinkAddress mac = {};
  std::vector<std::uint32_t> addresses;
  std::vector<Peer> peers;
  Egress egress;
};

bool read_address(std::istream& words, std::uint32_t& out) {
  std::string word;
  in_addr address{};
  if (!(words >> word) || ::inet_pton(AF_INET, word.c_str(), &address) != 1) return false;
  out = address.s_addr;
  return true;
}

bool read_mac(std::istream& words, LinkAddress& out) {
  std::string word;
  unsigned parts[6];
  if (!(words >> word) || std::sscanf(word.c_str(), "%x:%x:%x:%x:%x:%x", &parts[0], &parts[1],
                                      &parts[2], &parts[3], &parts[4], &parts[5]) != 6) {
    return false;
  }
  std::copy(std::begin(parts), std::end(parts), std::begin(out));
  return true;
}

bool read_line(std::istream& words, const std::string& kind, Plan& plan) {
  if (kind == "number") return static_cast<bool>(words >> plan.number);
  if (kind == "local") return read_address(words, plan.local);
  if (kind == "mac") return read_mac(words, plan.mac);
  if (kind == "address") return read_address(words, plan.addresses.emplace_back());
  if (kind != "peer") return read_egress(words, kind, plan.egress);
  Peer& peer = plan.peers.emplace_back();
  return read_address(words, peer.address) && read_address(words, peer.underlay) &&
         read_mac(words, peer.mac);
}

bool read_plan(const std::string& file, Plan& plan) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || !read_line(words, kind, plan)) return false;
  }
  return plan.number != 0 && !plan.addresses.empty();
}

// The MTU of the device that has the address, less what VXLAN adds.
std::uint32_t mtu_on(std::uint32_t local) {
  int mtu = 1500;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      if (reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr != local) continue;
      ifreq asked{};
      std::strncpy(asked.ifr_name, one->ifa_name, IFNAMSIZ - 1);
      const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      if (fd >= 0 && ::ioctl(fd, SIOCGIFMTU, &asked) == 0) mtu = asked.ifr_mtu;
      if (fd >= 0) ::close(fd);
    }
    ::freeifaddrs(list);
  }
  return static_cast<std::uint32_t>(std::max(mtu - kVxlanOverhead_bytes, kMtuMin_bytes));
}

bool is_namespace(const std::string& path) {
  struct statfs facts {};
  return ::statfs(path.c_str(), &facts) == 0 && facts.f_type == NSFS_MAGIC;
}

bool set_setting(const char* path, const char* value) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::write(fd, value, std::strlen(value)) > 0;
  ::close(fd);
  return done;
}

bool add_device(Netlink& outside, const Plan& plan, int here, std::uint32_t mtu) {
  Vxlan vxlan;
  vxlan.name = kDevice;
  vxlan.number = plan.number;
  vxlan.local = plan.local;
  std::copy(std::begin(plan.mac), std::end(plan.mac), std::begin(vxlan.mac));
  vxlan.in_namespace = here;
  vxlan.mtu = mtu;
  for (int tries = 0; tries < kBusyTries; ++tries) {
    if (outside.add_vxlan(vxlan)) return true;
    if (errno != EEXIST && errno != EADDRINUSE) return false;
    ::nanosleep(&kBusyWait, nullptr);
  }
  return false;
}

// In the new namespace; `outside` speaks for the machine's, and `mtu` is what fits its way there.
std::string fill(Netlink& outside, const Plan& plan, int here, std::uint32_t mtu) {
  Netlink inside;
  if (inside.broken() || !inside.set_up(kLoopback)) return "set up loopback";
  // Inside nobody is root of the machine, and every port is the gang's.
  if (!set_setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") ||
      !set_setting("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")) {
    return "open the ports of the gang's network";
  }
  int device = kLoopback;
  if (!plan.peers.empty()) {
    if (!add_device(outside, plan, here, mtu)) {
      return "make VXLAN " + std::to_string(plan.number) + " for the gang's network";
    }
    device = static_cast<int>(::if_nametoindex(kDevice));
    if (device == 0 || !inside.set_up(device)) return "set up the gang's network";
  }
  for (const std::uint32_t address : plan.addresses) {
    if (!inside.add_address(device, address, device == kLoopback ? 32 : kPrefix)) {
      return "give the task its address in the gang's network";
    }
  }
  for (const Peer& peer : plan.peers) {
    if (!inside.add_neighbour(device, peer.address, peer.mac) ||
        !inside.add_way(device, peer.mac, peer.underlay)) {
      return "write down a neighbour in the gang's network";
    }
  }
  return "";
}

std::string make_network(const Plan& plan, const std::string& held) {
  // Its requests are answered in the namespace that it is made in: the machine's.
  Machine machine;
  if (machine.broken()) return "ask the kernel for a network";
  const std::uint32_t mtu = mtu_on(plan.local);
  if (::unshare(CLONE_NEWNET) != 0) return "make a network namespace";
  const int here = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (here < 0) return "open the network namespace";
  if (std::string what = fill(machine.links(), plan, here, mtu); !what.empty()) return what;
  if (!plan.egress.device.empty()) {
    if (std::string what = make_egress(machine, plan.egress, here); !what.empty()) return what;
  }
  ::close(here);
  const int place = ::open(held.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (place < 0) return "make " + held;
  ::close(place);
  if (::mount("/proc/self/ns/net", held.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return "keep the gang's network in " + held;
  }
  return "";
}

}  // namespace

std::string join_network(const std::string& file) {
  // The first of the tasks that start at the same time makes it.
  const int lock = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0) return "open " + file;
  Plan plan;
  if (!read_plan(file, plan)) {
    errno = EINVAL;
    return "read " + file;
  }
  const std::string held = file + ".ns";
  std::string what;
  if (is_namespace(held)) {
    const int there = ::open(held.c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) what = "join the gang's network";
    if (there >= 0) ::close(there);
  } else {
    what = make_network(plan, held);
  }
  const int reason = errno;
  ::close(lock);
  errno = reason;
  return what;
}

int listen_on(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  constexpr int kOn = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn) == 0 &&
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

}  // namespace dove::contain
