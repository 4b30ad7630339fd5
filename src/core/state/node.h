// Node: what the brain knows about one machine, and what is free on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/declared.h"
#include "model/event.h"
#include "model/executor.h"
#include "model/health.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/time.h"

namespace dove::core {

struct OpenFinding {
  Finding finding;
  Instant since;
};

// The network from a node to `peer` failed.
struct LinkVote {
  NodeId peer;
  Instant at;
  JobId job = {};  // whose tasks say so; none: preflight
};

// What an executor does on a node, and whether new work of ours may go there.
struct NodeExecutor {
  std::string name;
  ExecutorNodeState state = ExecutorNodeState::kUp;
  std::string why = {};
  std::vector<ForeignAllocation> foreign = {};  // ascending by id
  // Copied from the executor, so that a node tells by itself whether it takes work.
  bool placeholders = false;
  ExecutorContact contact = ExecutorContact::kSilent;
  std::vector<std::string> features = {};  // that it says the node has; ascending
  // Follows from the level of the log: whether what it keeps for others later is free until then.
  bool knows_to_come = false;
};

// What a node's agent was last told, and counts on until it is told something else. 0: nothing yet.
struct Agreed {
  Span fence = {};
  Span disconnect_grace = {};
  Span outage_grace = {};
};

// The books of one node. Free amounts exclude what is reserved for the system. What a launch, an
// end and a search look at comes first.
// What a search for places looks at comes first, near one another in memory.
struct Node {
  NodeId id;
  Contact contact = Contact::kSilent;
  LifeStage life = LifeStage::kProduction;
  bool removed = false;
  std::shared_ptr<const Inventory> inventory;
  std::vector<OpenFinding> findings;  // ascending by check and device
  std::int64_t memory_free_bytes = 0;
  CoreSet cores_free;
  std::vector<std::int32_t> device_free_milli;  // by device index
  std::vector<std::uint32_t> slots_taken;       // by slices, by device index; empty: no slices
  std::vector<Countable> countables_free;       // ascending by name
  std::vector<JobId> jobs;              // ascending, with a placement here that has not ended
  std::vector<NodeExecutor> executors;  // ascending by name
  NodeDeclaration declared;
  std::string name;
  std::string boot_id;
  std::string backend;
  std::string address;
  std::string agent_token_sha256;
  Instant contact_since;
  std::string version;  // of its agent
  std::int32_t preflight_port = 0;
  Instant life_since;
  std::string life_why;
  std::string life_who;
  Remedy remedy = Remedy::kNone;     // what is to be tried, or is under way
  Answer answer = Answer::kAwaited;  // to the order of this stage
  NodeRequest request;
  std::vector<Instant> faults;  // when they were found, the last ones, ascending
  std::vector<LinkVote> votes;  // one for a peer, ascending by peer
  std::string machine_id;       // as last registered
  bool awaited = false;         // not heard of since this controller started
  Agreed agreed;
};

// What its agent has to show is void, and nothing is sent there. It stays until nothing of it can
// run, and expelled until it joins again.
inline bool is_expelled(const Node& node) { return node.request.action == NodeAction::kExpel; }

}  // namespace dove::core
