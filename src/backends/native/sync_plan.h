// SyncPlan: what an agent holds against what the ledger says (api/agent-protocol.md, sync).
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::backends {

struct HeldPlacement {
  enum class Stage { kPrepared, kStarted, kEnded };
  JobId job;
  AttemptNumber attempt = 0;
  Stage stage = Stage::kPrepared;
  std::vector<TaskExit> exits;
  std::string launch_failed;  // why, when it ended without having started
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
  Span started_ago = {};  // 0: nothing was started, or it is not known
};

struct StepKey {
  JobId job;
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  auto operator<=>(const StepKey&) const = default;
};

struct SyncMessage {
  std::string ticket;  // of the answer that this sync was asked for with; "": none
  std::string boot_id;
  std::string address;
  std::int32_t preflight_port = 0;
  std::uint64_t epoch_seen = 0;
  std::uint64_t log_head_seen = 0;
  Inventory inventory;
  std::vector<HeldPlacement> held;
  std::vector<StepKey> steps;  // whose tasks run there
};
Result<SyncMessage> read_sync(const nlohmann::json& body);

// The events that bring the ledger up to what the agent tells.
std::vector<Event> sync_events(const core::State& state, const core::Node& node,
                               const SyncMessage& message);

// What the agent holds and the ledger does not want: once the events are folded.
struct Leftovers {
  std::vector<const HeldPlacement*> stop;
  std::vector<const HeldPlacement*> forget;
};
Leftovers leftovers(const core::State& state, NodeId node, const SyncMessage& message);

// The placement of an attempt on a node; nullptr when there is none.
const core::PlacementRecord* find_placement(const core::State& state, JobId job,
                                            AttemptNumber attempt, NodeId node);

// As an agent computes it over what it holds.
std::uint64_t placements_hash(const core::State& state, const core::Node& node);

// One entry of a report's "events" as the event it stands for.
Result<Event> read_report(const nlohmann::json& item, NodeId node);

}  // namespace dove::backends
