// Orders: what the ledger decided about a node (api/agent-protocol.md, orders).
//
// Each is one line of JSON. A launch goes to all nodes of its attempt with all but its placement
// the same: that part is written once.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/declared.h"
#include "model/exec.h"
#include "model/job.h"
#include "model/placement.h"
#include "protocol/attempt.h"

namespace dove::protocol {

enum class OrderKind { kLaunch, kStart, kStop, kTest, kRemedy };

// What all orders say. `key` is that of no job for kTest and kRemedy.
struct Order {
  Seq seq;  // of the decision behind it
  Epoch epoch;
  std::string proof;  // that the controller said so (head_proof of a sync)
  OrderKind kind = OrderKind::kStart;
  AttemptKey key;
  std::string reason;         // kStop: the ledger's word for it
  std::int64_t after_ms = 0;  // kStop: what asked for it itself has so long
  std::string remedy;         // kRemedy: the hook's name
  // kStart: where an executor holds the place, as that gave it its cores; unset: as launched.
  std::optional<Placement> placement = {};
};

// One node of an attempt, as the tasks on all of its nodes see it.
struct PeerNode {
  std::string name;
  std::string address;  // where tasks reach those there
  std::int32_t node_rank = 0;
  std::vector<Rank> ranks;
  std::int32_t cores = 0;
  std::vector<std::int32_t> devices;
  std::string underlay = {};        // not sent: `address`, before the gang had a network of its own
  std::int32_t preflight_port = 0;  // of its agent's RingHub; 0: it has none
};

// What a launch says beside the Order: the same on all nodes, but for the placement. It names the
// secrets; their values are asked for (giveSecrets), and stand in no order.
struct Launch : JobBrief {
  std::int32_t restart_count = 0;
  bool barrier = false;         // wait for Start once prepared
  bool preflight = false;       // try the node and the network first
  Placement placement;          // of the node that the line goes to
  std::vector<PeerNode> nodes;  // of the whole attempt, ascending by node_rank
  // What agents know of the job besides.
  JobId array;
  std::int32_t array_index = 0;
  std::int32_t tasks = 1;  // of the whole attempt
  std::int32_t cpus_per_task = 1;
  std::vector<std::string> group_names;
  ExecSpec exec;                                           // as it is read
  std::shared_ptr<const std::string> exec_blob = nullptr;  // as it is written: ExecSpec's JSON
  RunAs run_as = RunAs::kNode;                             // of its pool
  std::string linux_user;                                  // "": only as the agent's own user
  std::string job_token;
};

// One object without '\n'. A launch's is joined from the part that all nodes are sent alike.
std::string order_line(const Order& order);
std::string launch_text(const Launch& launch);
std::string launch_line(const Order& order, const Placement& here, const std::string& launch_text);

// Errors: malformed_message.
Result<Order> read_order(const nlohmann::json& line);
Result<Launch> read_launch(const nlohmann::json& line);

}  // namespace dove::protocol
