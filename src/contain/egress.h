// Egress of a gang network on this machine (containers/egress.h): a pair of devices, routes inside,
// and the machine's table of nftables, which exists as long as such devices do.
//
// A process that creates or removes the table holds the lock beside the file of rules.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "contain/netlink.h"

namespace dove::contain {

struct Egress {
  std::string device;  // "": there is none
  std::string table;
  std::string nft;
  std::string rules;
  std::vector<Destination> routes;
  std::vector<Destination> closed;
};

// One line of a network's description; false: it is not about egress, or malformed.
bool read_egress(std::istream& words, const std::string& kind, Egress& egress);

// The machine's side; made while the process is still in its network namespace.
class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool broken() const { return space_ < 0 || filters_ < 0 || links_.broken(); }
  Netlink& links() { return links_; }
  std::uint32_t mtu_out() const { return mtu_out_; }  // of its route to the world
  // Whether nftables has such a table.
  bool has_table(const std::string& name);
  // Runs the program in the machine's network namespace; its exit status, -1 and errno.
  int run(const std::vector<std::string>& argv) const;

 private:
  Netlink links_;
  int space_ = -1;
  int filters_ = -1;
  const std::uint32_t mtu_out_;
};

// From the network whose namespace is open as `here`, which the process is in. "": done; else what
// could not be done, with errno.
std::string make_egress(Machine& machine, const Egress& egress, int here);

// dove-contain end-egress NFT TABLE DEVICE RULES: takes the table away unless devices are there.
int end_egress(char** words);
// dove-contain try-egress NFT RULES: whether this kernel can hold the rules, a pair of devices and
// a VXLAN; tries it in a network namespace that goes with the process. The exit status is a sum of
// containers::kEgress and kVxlans.
int try_egress(char** words);

}  // namespace dove::contain
