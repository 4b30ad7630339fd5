// ContainerEgress: egress for gang networks. It detects whether this node can provide it, describes
// it to containers, and removes the host side when the last network is gone (containers/egress.h).
//
// dove-contain tests the kernel in a network namespace of its own, which changes nothing on the
// machine. The latest result of this boot is kept and used until a starting agent has tested again.
// While something is missing, the test is repeated at growing intervals, because a module may be
// loaded or nft be installed; otherwise it is repeated from time to time, and what two tests miss
// counts as gone. Reaching the controller needs nftables. Reaching the internet also needs a
// machine that forwards, which is checked for each network. Loop thread only.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "containers/child.h"
#include "containers/egress.h"
#include "wire/loop.h"

namespace dove::agent {

struct ContainerEgressOptions {
  std::string contain_path;
  std::string directory;  // of its own, for the rules
  std::vector<std::string> routes;
  std::vector<containers::ControllerPlace> controllers;
  std::chrono::milliseconds again{10'000};  // to the next trial; doubled with each
  std::chrono::milliseconds again_most{600'000};
  std::chrono::milliseconds again_when_well{300'000};
};

class ContainerEgress {
 public:
  // REQUIRES: called before the loop runs; waits for the first trial in a boot, 20 s at most.
  ContainerEgress(wire::Loop& loop, ContainerEgressOptions options);
  // Takes the table away at once if it only lingers.
  ~ContainerEgress();
  ContainerEgress(const ContainerEgress&) = delete;
  ContainerEgress& operator=(const ContainerEgress&) = delete;

  // For a new network's description; "": it has no egress at all.
  std::string text() const;
  // Why networks have less than they were meant to, with the remedy; "": they have it.
  std::string shortfall() const;
  // Where tasks find the controllers; "": where the agent does, or not at all.
  std::string controller_url() const;
  bool has_vxlan() const { return can_vxlan_; }
  // For a container's /etc/resolv.conf.
  std::string resolver() const;

  // After the agent's start, and whenever that changes: whether there are networks.
  void begin(bool any);
  void in_use(bool any);

 private:
  std::vector<std::string> trial();
  // By the exit status of a trial.
  void tried(int can);
  void keep() const;
  int kept() const;
  void try_later();
  void try_again();
  bool forwards() const;
  std::vector<std::string> end_command() const;
  void end();

  wire::Loop& loop_;
  const ContainerEgressOptions options_;
  containers::Egress egress_;
  bool can_out_ = false;
  bool can_vxlan_ = false;
  bool could_out_ = false;  // at some time: there may be a table
  int last_ = -1;           // what the last trial said
  int trials_ = 0;          // since it was well
  wire::Timer linger_;
  wire::Timer again_;
  std::unique_ptr<containers::Child> child_;
  std::unique_ptr<containers::Child> trial_;
};

// Where the controller is, by its host's name or address; waits for the name's address.
containers::ControllerPlace controller_place(const std::string& host, std::uint16_t port);

}  // namespace dove::agent
