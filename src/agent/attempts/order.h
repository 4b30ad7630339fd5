// Orders as the agent uses them: a launch together with what this node adds to it.
//
// Plain values. Include nlohmann/json.hpp only in .cc files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "protocol/control.h"
#include "protocol/orders.h"

namespace dove::agent {

using protocol::AttemptKey;
using protocol::ExecOrder;
using protocol::ForwardOrder;
using protocol::PeerNode;
using protocol::StepAttach;
using protocol::StepOrder;

struct LaunchOrder : protocol::Launch {
  AttemptKey key;
  bool has_network = false;  // the node offered networks of gangs when the order came
  bool in_network = false;   // containers are in one of their gang; the same on all of its nodes
  std::string no_network;  // why it is not, though its job left the choice to us; "": it is not so
};

// Peers' addresses are those of the gang's network if it has one. Errors: malformed_message.
Result<LaunchOrder> read_launch_order(const nlohmann::json& line, bool has_network);
// The command's id becomes a part of files' names. Errors: malformed_message.
Result<void> check(const ExecOrder& order);
Result<void> check(const ForwardOrder& order);

}  // namespace dove::agent
