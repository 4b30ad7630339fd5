// TestCluster: a State in one line, for the tests of core.
//
// `TestCluster cluster(2, {.gpus = 8});` has two nodes that accept work. Jobs are described as
// briefly as possible and moved on by hand. It only folds; decisions are in
// core/cycle/decide_fixture.h. One thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/state/apply.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// What a node has. Its cores and GPUs lie on one NUMA node.
struct Has {
  std::int32_t cores = 8;
  std::int32_t gpus = 0;
  std::int64_t memory_bytes = 1000;
  std::string model = "H200";
};

// What a job asks for, each of its tasks.
struct Ask {
  std::int32_t cores = 1;
  std::int32_t gpus = 0;
  std::int32_t tasks = 1;
  std::string user = "ann";
  std::string queue = "default";
  std::int64_t limit_s = 0;
  std::int32_t priority = 0;
  Preempt preempt = Preempt::kNone;
};

inline JobSpec spec_of(const Ask& ask) {
  JobSpec spec;
  spec.user = ask.user;
  spec.queue = ask.queue;
  spec.time_limit = seconds(ask.limit_s);
  spec.priority = ask.priority;
  spec.preempt = ask.preempt;
  TaskGroup& group = spec.groups.emplace_back();
  group.tasks = ask.tasks;
  group.per_task.cores = ask.cores;
  group.per_task.gpus = ask.gpus;
  return spec;
}

inline Queue queue_of(std::string name, std::string parent = "") {
  Queue queue;
  queue.name = std::move(name);
  queue.parent = std::move(parent);
  return queue;
}

inline std::shared_ptr<const Inventory> inventory_of(const Has& has) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < has.cores; ++core) inventory->numa[0].cores.insert(core);
  for (std::int32_t i = 0; i < has.gpus; ++i) {
    inventory->devices.push_back({"gpu", "nvidia", has.model, "", std::int64_t{80} << 30, 0});
  }
  inventory->memory_bytes = has.memory_bytes;
  return inventory;
}

// The first core and device ids that the node has free, so many as one task asks for.
inline Placement first_free(const Node& node, const JobSpec& spec, Rank rank = 0) {
  const Request& task = spec.groups.front().per_task;
  Placement placement;
  placement.node = node.id;
  placement.cores = node.cores_free.first(static_cast<std::size_t>(task.cores));
  for (std::size_t i = 0; i < node.device_free_milli.size(); ++i) {
    if (placement.devices.size() == static_cast<std::size_t>(task.gpus)) break;
    if (node.device_free_milli[i] < kWholeDevice_milli) continue;
    placement.devices.push_back({static_cast<std::int32_t>(i)});
  }
  placement.memory_bytes = task.memory_bytes;
  placement.tasks.push_back({rank, 0, 0, placement.cores, placement.devices});
  return placement;
}

class TestCluster {
 public:
  explicit TestCluster(int nodes = 0, const Has& has = {}) {
    begin_batch(state, Instant{1'000'000'000}, Epoch(1));
    for (int i = 0; i < nodes; ++i) add_node(has);
  }

  State state;

  const Job& job(JobId id) const { return *state.find_job(id); }
  const Node& node(std::uint32_t number) const { return *state.find_node(NodeId(number)); }

  void tell(Event event) { core::apply(state, StampedEvent{std::move(event), {}}); }
  void decided(Decision decision) { core::apply(state, decision); }
  void declare(Declared object) { tell(ObjectApplied{std::move(object)}); }
  void pass(Span span) { begin_batch(state, state.now + span, state.epoch); }

  // Named n1, n2, ... in the order in which they come.
  NodeId add_node(const Has& has) {
    NodeRegistered node;
    node.name = fmt::format("n{}", state.nodes.size() + 1);
    node.boot_id = "boot";
    node.inventory = inventory_of(has);
    tell(node);
    tell(NodeConnected{state.nodes.back().id, "boot"});
    return state.nodes.back().id;
  }

  // (No brace list is taken for a JobSpec.)
  template <std::same_as<JobSpec> Spec>
  JobId submit(Spec spec) {
    const JobId id(state.next_job);
    tell(JobSubmitted{std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }
  JobId submit(const Ask& ask = {}) { return submit(spec_of(ask)); }

  // One task on each of the nodes, by number.
  void launch(JobId id, const std::vector<std::uint32_t>& numbers = {1}) {
    std::vector<Placement> placements;
    for (const std::uint32_t number : numbers) {
      const auto rank = static_cast<Rank>(placements.size());
      placements.push_back(first_free(node(number), *job(id).spec, rank));
      placements.back().node_rank = static_cast<std::int32_t>(rank);
    }
    const auto attempt = static_cast<AttemptNumber>(job(id).attempts.size() + 1);
    decided(Launch{id, attempt, shared(std::move(placements))});
  }
  // All that the job was launched on prepares and starts.
  void start(JobId id) {
    for (const NodeId each : held(id)) tell(PlacementPrepared{id, number(id), each});
    decided(Start{id, number(id)});
    for (const NodeId each : held(id)) tell(PlacementStarted{id, number(id), each});
  }
  JobId submit_and_start(const Ask& ask = {}, const std::vector<std::uint32_t>& numbers = {1}) {
    const JobId id = submit(ask);
    launch(id, numbers);
    start(id);
    return id;
  }
  // What it holds is free; the job is still to be ended.
  void leave(JobId id, std::int32_t exit_code = 0) {
    TaskExit exit;
    exit.exit_code = exit_code;
    for (const NodeId each : held(id)) tell(PlacementEnded{id, number(id), each, {exit}, 0, 0});
  }
  void end(JobId id, Outcome outcome = Outcome::kCompleted) {
    leave(id, outcome == Outcome::kCompleted ? 0 : 1);
    decided(EndJob{id, outcome, outcome == Outcome::kCompleted ? 0 : 1});
  }

 private:
  AttemptNumber number(JobId id) const { return job(id).attempts.back().number; }
  std::vector<NodeId> held(JobId id) const {
    std::vector<NodeId> nodes;
    for (const PlacementRecord& record : job(id).attempts.back().placements) {
      if (record.stage != PlacementStage::kEnded) nodes.push_back(record.placement->node);
    }
    return nodes;
  }
};

}  // namespace dove::core
