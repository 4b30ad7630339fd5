// NodeDescription: what this node reports about itself to the controller: its inventory, what tasks
// may have beyond it, and which limits are not enforced.
//
// Each change makes a new version(); a session compares versions to know what its controller has
// not heard. Owned by Agent; Session reads it. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/session/task_offer.h"
#include "model/node.h"
#include "protocol/session.h"

namespace dove::agent {

// What networks of gangs are like on this node at the moment.
struct NetworkOffer {
  std::string shortfall;       // what they lack, with the remedy; "": nothing
  std::string controller_url;  // from within; "": as everywhere
  bool has_overlay = false;    // they can lead to other nodes
};

class NodeDescription {
 public:
  struct Options {
    std::string not_enforced;  // limits that tasks do not have here, and why; "": they have all
    std::optional<TaskOffer> offer = {};  // unset: the controller hears nothing of it
    bool wants_networks = true;           // false: containers have the node's own network
    std::function<NetworkOffer()> network_offer = {};  // unset: there are no networks
  };

  NodeDescription(Inventory inventory, Options options);

  // These say whether anything changed that the controller is to hear.
  bool set_inventory(Inventory inventory);
  bool set_offer(TaskOffer offer);
  // Looks at the networks of gangs. `has_cards`: of a fabric, which overlays do not reach.
  bool look_at_networks(bool has_cards);

  const Inventory& inventory() const { return inventory_; }
  const std::optional<TaskOffer>& offer() const { return options_.offer; }
  // Whether containers whose job does not say have a network of their gang here.
  bool offers_networks() const;
  // The controller's URL in networks of gangs, as of the last look.
  const std::string& gang_url() const { return gang_url_; }
  std::uint64_t version() const { return version_; }
  void describe(protocol::Sync& sync) const;
  void describe(protocol::ReportMessage& message) const;

 private:
  Options options_;
  Inventory inventory_;
  std::string not_enforced_;  // the options', and what networks of gangs lack
  std::string gang_url_;
  std::uint64_t version_ = 1;
};

}  // namespace dove::agent
