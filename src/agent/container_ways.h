// ContainerWays: whether networks of gangs on this node have ways out, what they are told about
// them, and the end of the machine's part when the last network is gone (containers/ways.h).
//
// What the kernel can do is tried once, by dove-contain in a network namespace of its own; nothing
// of the machine is changed for it. A way to the controller needs nftables; the world also needs a
// machine that forwards, which is looked up anew for each network. Loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "containers/child.h"
#include "containers/ways.h"
#include "wire/loop.h"

namespace dove::agent {

struct ContainerWaysOptions {
  std::string contain_path;
  std::string directory;  // of its own, for the rules
  std::vector<std::string> routes;
  containers::ControllerPlace controller;
};

class ContainerWays {
 public:
  // REQUIRES: called before the loop runs; waits for the trial, 5 s at most.
  ContainerWays(wire::Loop& loop, ContainerWaysOptions options);
  // Takes the table away at once if it only lingers.
  ~ContainerWays();
  ContainerWays(const ContainerWays&) = delete;
  ContainerWays& operator=(const ContainerWays&) = delete;

  // For a new network's description; "": it has no way out at all.
  std::string text() const;
  // Why networks have less than they were meant to, with the remedy; "": they have it.
  std::string shortfall() const;
  // Where tasks find the controller; "": where the agent does, or not at all.
  std::string controller_url() const;
  bool has_vxlan() const { return can_vxlan_; }
  // For a container's /etc/resolv.conf.
  std::string resolver() const;

  // After the agent's start, and whenever that changes: whether there are networks.
  void begin(bool any);
  void in_use(bool any);

 private:
  void try_kernel();
  bool forwards() const;
  std::vector<std::string> end_command() const;
  void end();

  wire::Loop& loop_;
  const ContainerWaysOptions options_;
  containers::Ways ways_;
  bool can_out_ = false;
  bool can_vxlan_ = false;
  wire::Timer linger_;
  std::unique_ptr<containers::Child> child_;
};

// Where the controller is, by its host's name or address; waits for the name's address.
containers::ControllerPlace controller_place(const std::string& host, std::uint16_t port);

}  // namespace dove::agent
