#include "backends/native/sync_plan.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "codec/json.h"
#include "listener/call.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;
using core::PlacementStage;

constexpr std::size_t kHeldMax = 100'000;
constexpr std::size_t kWhy_bytes = 4096;
constexpr std::size_t kName_bytes = 256;  // of a boot id, an address

Result<std::vector<TaskExit>> read_exits(const Json& item) {
  std::vector<TaskExit> exits;
  if (!item.contains("exits")) return exits;
  for (const Json& value : item.at("exits")) {
    TRY_ASSIGN(TaskExit exit, codec::read_task_exit(value));
    exits.push_back(std::move(exit));
  }
  return exits;
}

Error malformed(const std::string& what) {
  return listener::invalid("malformed_message",
                           "this message of an agent cannot be read: " + what +
                               "; compare `dove version` on both machines",
                           "");
}

Span read_ago(const Json& item) {
  constexpr std::int64_t kYear_us = 366LL * 24 * 3600 * 1'000'000;
  return Span{std::clamp<std::int64_t>(item.value("started_ago_us", std::int64_t{0}), 0, kYear_us)};
}

Result<HeldPlacement> read_held(const Json& item) {
  HeldPlacement held;
  held.job = JobId(item.at("job").get<std::uint64_t>());
  held.attempt = item.at("attempt").get<AttemptNumber>();
  const auto stage = item.at("stage").get<std::string>();
  if (stage == "prepared") {
    held.stage = HeldPlacement::Stage::kPrepared;
  } else if (stage == "started") {
    held.stage = HeldPlacement::Stage::kStarted;
  } else if (stage == "ended") {
    held.stage = HeldPlacement::Stage::kEnded;
  } else {
    return malformed("stage " + stage.substr(0, 32));
  }
  TRY_ASSIGN(held.exits, read_exits(item));
  held.launch_failed = item.value("launch_failed", "").substr(0, kWhy_bytes);
  held.cpu_us = item.value("cpu_us", std::int64_t{0});
  held.memory_peak_bytes = item.value("memory_peak_bytes", std::int64_t{0});
  held.started_ago = read_ago(item);
  return held;
}

PlacementEnded ended_event(const HeldPlacement& held, NodeId node) {
  return PlacementEnded{held.job,        held.attempt, node,
                        held.exits,      held.cpu_us,  held.memory_peak_bytes,
                        held.started_ago};
}

void add_progress(const HeldPlacement& held, const core::PlacementRecord& record, NodeId node,
                  std::vector<Event>& events) {
  switch (held.stage) {
    case HeldPlacement::Stage::kPrepared:
      if (record.stage == PlacementStage::kOrdered) {
        events.push_back(PlacementPrepared{held.job, held.attempt, node});
      }
      return;
    case HeldPlacement::Stage::kStarted:
      if (record.stage != PlacementStage::kStarted) {
        events.push_back(PlacementStarted{held.job, held.attempt, node, held.started_ago});
      }
      for (const TaskExit& exit : held.exits) {
        events.push_back(TaskEnded{held.job, held.attempt, node, exit});
      }
      return;
    case HeldPlacement::Stage::kEnded:
      if (held.launch_failed.empty()) {
        events.push_back(ended_event(held, node));
      } else {
        events.push_back(LaunchFailed{held.job, held.attempt, node, held.launch_failed});
      }
      return;
  }
}

// The ledger had it running here, the agent, which sweeps what is left of tasks when it starts,
// holds nothing of it: it ended without a trace.
void add_vanished(const core::State& state, const core::Node& node, const SyncMessage& message,
                  std::vector<Event>& events) {
  for (const JobId id : node.jobs) {
    const core::Job* job = state.find_job(id);
    if (job == nullptr || job->attempts.empty()) continue;
    const core::Attempt& attempt = job->attempts.back();
    const core::PlacementRecord* record = find_placement(state, id, attempt.number, node.id);
    if (record == nullptr || record->stage == PlacementStage::kEnded ||
        record->stage == PlacementStage::kOrdered) {
      continue;
    }
    const bool held =
        std::any_of(message.held.begin(), message.held.end(), [&](const HeldPlacement& placement) {
          return placement.job == id && placement.attempt == attempt.number;
        });
    if (held) continue;
    PlacementEnded ended{id, attempt.number, node.id, {}, 0, 0};
    for (const TaskGrant& task : record->placement->tasks) {
      const bool told = std::any_of(attempt.exits.begin(), attempt.exits.end(),
                                    [&](const TaskExit& exit) { return exit.rank == task.rank; });
      if (!told) ended.exits.push_back(TaskExit{task.rank, 0, 9, "agent_lost_its_record"});
    }
    events.push_back(std::move(ended));
  }
}

// What a machine that goes down ends by signals, as it ends every process, did not end by itself.
HeldPlacement told_after_boot(HeldPlacement held) {
  for (TaskExit& exit : held.exits) {
    const bool killed = exit.signal == SIGTERM || exit.signal == SIGKILL;
    if (killed && exit.cause.empty()) exit.cause = "machine_stopped";
  }
  return held;
}

}  // namespace

Result<SyncMessage> read_sync(const Json& body) {
  try {
    SyncMessage message;
    message.ticket = body.value("ticket", "");
    message.boot_id = body.at("boot_id").get<std::string>();
    message.address = body.value("address", "");
    if (message.boot_id.size() > kName_bytes) return malformed("a boot_id of more than 256 bytes");
    if (message.address.size() > kName_bytes) return malformed("an address of more than 256 bytes");
    message.preflight_port = std::clamp(body.value("preflight_port", 0), 0, 65'535);
    message.epoch_seen = body.value("epoch_seen", std::uint64_t{0});
    message.log_head_seen = body.value("log_head_seen", std::uint64_t{0});
    TRY_ASSIGN(message.inventory, codec::read_inventory(body.at("inventory")));
    const Json placements = body.value("placements", Json::array());
    if (placements.size() > kHeldMax) return malformed("too many placements");
    for (const Json& item : placements) {
      TRY_ASSIGN(HeldPlacement held, read_held(item));
      message.held.push_back(std::move(held));
    }
    for (const Json& item : body.value("steps", Json::array())) {
      if (message.steps.size() >= kHeldMax) return malformed("too many steps");
      message.steps.push_back(StepKey{JobId(item.at("job").get<std::uint64_t>()),
                                      item.at("attempt").get<AttemptNumber>(),
                                      item.at("step").get<std::int32_t>()});
    }
    return message;
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
}

const core::PlacementRecord* find_placement(const core::State& state, JobId job,
                                            AttemptNumber attempt, NodeId node) {
  const core::Job* found = state.find_job(job);
  if (found == nullptr) return nullptr;
  for (const core::Attempt& each : found->attempts) {
    if (each.number != attempt) continue;
    for (const core::PlacementRecord& record : each.placements) {
      if (record.placement->node == node) return &record;
    }
  }
  return nullptr;
}

std::vector<Event> sync_events(const core::State& state, const core::Node& node,
                               const SyncMessage& message) {
  std::vector<Event> events;
  const bool same_life = message.boot_id == node.boot_id;
  if (same_life) add_vanished(state, node, message, events);
  for (const HeldPlacement& held : message.held) {
    const core::PlacementRecord* record = find_placement(state, held.job, held.attempt, node.id);
    const bool active = record != nullptr && record->stage != PlacementStage::kEnded;
    if (active) {
      add_progress(same_life ? held : told_after_boot(held), *record, node.id, events);
    } else if (record == nullptr && held.stage != HeldPlacement::Stage::kEnded) {
      events.push_back(UnknownTaskObserved{node.id, held.job, held.attempt});
    }
  }
  // After the reports: a new boot id ends what they are about.
  if (!same_life || message.address != node.address || !(message.inventory == *node.inventory)) {
    NodeRegistered registered{node.name,
                              message.boot_id,
                              node.backend,
                              message.address,
                              node.agent_token_sha256,
                              std::make_shared<const Inventory>(message.inventory)};
    events.push_back(std::move(registered));
  }
  events.push_back(NodeConnected{node.id, message.boot_id, {}, message.preflight_port});
  return events;
}

Leftovers leftovers(const core::State& state, NodeId node, const SyncMessage& message) {
  Leftovers found;
  for (const HeldPlacement& held : message.held) {
    const core::PlacementRecord* record = find_placement(state, held.job, held.attempt, node);
    const bool active = record != nullptr && record->stage != PlacementStage::kEnded;
    if (active) continue;
    if (held.stage == HeldPlacement::Stage::kEnded) {
      found.forget.push_back(&held);
    } else {
      found.stop.push_back(&held);
    }
  }
  return found;
}

std::uint64_t placements_hash(const core::State& state, const core::Node& node) {
  Digest digest;
  for (const JobId id : node.jobs) {
    const core::Job* job = state.find_job(id);
    if (job == nullptr) continue;
    for (const core::Attempt& attempt : job->attempts) {
      const core::PlacementRecord* record = find_placement(state, id, attempt.number, node.id);
      if (record == nullptr || record->stage == PlacementStage::kEnded) continue;
      digest.add(id.value);
      digest.add(attempt.number);
      digest.add(record->stage == PlacementStage::kStarted ? 2u : 1u);
    }
  }
  return digest.value();
}

Result<Event> read_report(const Json& item, NodeId node) {
  try {
    const auto kind = item.at("kind").get<std::string>();
    const JobId job(item.at("job").get<std::uint64_t>());
    const auto attempt = item.at("attempt").get<AttemptNumber>();
    if (kind == "prepared") return Event(PlacementPrepared{job, attempt, node});
    if (kind == "started") return Event(PlacementStarted{job, attempt, node});
    if (kind == "task_ended") {
      TRY_ASSIGN(TaskExit exit, codec::read_task_exit(item.at("exit")));
      return Event(TaskEnded{job, attempt, node, std::move(exit)});
    }
    if (kind == "ended") {
      TRY_ASSIGN(std::vector<TaskExit> exits, read_exits(item));
      return Event(PlacementEnded{
          job, attempt, node, std::move(exits), item.value("cpu_us", std::int64_t{0}),
          item.value("memory_peak_bytes", std::int64_t{0}), read_ago(item)});
    }
    if (kind == "launch_failed") {
      return Event(LaunchFailed{job, attempt, node, item.value("why", "").substr(0, kWhy_bytes)});
    }
    return malformed("kind " + kind.substr(0, 32));
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
}

}  // namespace dove::backends
