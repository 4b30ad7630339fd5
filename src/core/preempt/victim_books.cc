#include "core/preempt/victim_books.h"

#include <algorithm>

#include "core/collections/sorted.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "model/standing_fence.h"

namespace dove::core {
namespace {

// REQUIRES: the executor is on the node.
std::vector<ForeignAllocation>& allocations_of(Node& node, const std::string& executor) {
  return std::find_if(node.executors.begin(), node.executors.end(),
                      [&](const NodeExecutor& each) { return each.name == executor; })
      ->foreign;
}

// What the job holds of the device, in thousandths.
std::int32_t held_of(const Job& job, NodeId node, std::int32_t device) {
  std::int32_t held = 0;
  if (job.attempts.empty()) return held;
  for (const PlacementRecord& record : job.attempts.back().placements) {
    if (record.placement->node != node || record.stage == PlacementStage::kEnded) continue;
    for (const DeviceGrant& grant : record.placement->devices) {
      if (grant.device == device) held += grant.share_milli;
    }
  }
  return held;
}

}  // namespace

VictimBooks::VictimBooks(const State& state, std::span<const JobId> stopping,
                         std::span<const JobId> promised)
    : state_(state), base_(state.nodes), cores_promised_(state.nodes.size()) {
  for (JobId id : stopping) {
    for (const PlacementRecord& record : state.find_job(id)->attempts.back().placements) {
      // Ended ones have given their places back in the state already.
      if (record.stage == PlacementStage::kEnded) continue;
      // A copy of all nodes is made once for a search; what victims give and get back is done on
      // copies of that.
      Node& node = base_[record.placement->node];
      core::release(node, record.placement);
      drop_sorted(node.jobs, id);
    }
  }
  // After what is being stopped was given back, as promises may be on those very places.
  for (JobId id : promised) keep_promised(id);
}

void VictimBooks::keep_promised(JobId job) {
  for (const Placement& placement : state_.promises.at(job).placements) {
    Node& node = base_[placement.node];
    allocate(node, placement);
    add_sorted(node.jobs, job);  // it will be there: nobody has the node for themselves
    cores_promised_[placement.node] |= placement.cores;
    // The books count nothing of a device that an executor holds, and so no promise of it.
    for (const DeviceGrant& grant : placement.devices) {
      if (is_device_foreign(node, static_cast<std::size_t>(grant.device))) {
        devices_promised_.insert({placement.node, grant.device});
      }
    }
  }
}

Placement VictimBooks::left_of(const Placement& placement, bool is_executors) const {
  Placement left;
  left.node = placement.node;
  left.devices = placement.devices;
  left.memory_bytes = placement.memory_bytes;
  left.countables = placement.countables;
  // A core is owned whole and by id: one that is promised is not the victim's to leave. Devices and
  // memory are amounts that were taken off above, and do not need ids.
  // The same device may be promised to one job and held by a victim; then its amount is below zero
  // until the victim is gone.
  left.cores = placement.cores - cores_promised_[placement.node];
  if (is_executors) {
    // A fence holds each of its devices meanwhile, and has a little memory itself.
    const auto fences = static_cast<std::int64_t>(placement.devices.size());
    left.memory_bytes = std::max<std::int64_t>(left.memory_bytes - fences * kFence_memory_bytes, 0);
    std::erase_if(left.devices, [&](const DeviceGrant& grant) {
      return devices_promised_.contains({placement.node, grant.device});
    });
  }
  return left;
}

void VictimBooks::list(const std::vector<Victim>& victims) {
  // By node, as the search asks one node at a time what could be freed there.
  pieces_.assign(base_.size(), {});
  nodes_of_.assign(victims.size(), {});
  jobs_.clear();
  foreign_.clear();
  for (std::size_t i = 0; i < victims.size(); ++i) {
    jobs_.push_back(victims[i].job);
    foreign_.push_back(victims[i].foreign);
    for (const PlacementRecord& record : job_of(state_, victims[i]).attempts.back().placements) {
      if (record.stage == PlacementStage::kEnded) continue;
      const NodeId node = record.placement->node;
      pieces_[node].push_back({i, left_of(record.placement, victims[i].foreign != nullptr)});
      nodes_of_[i].push_back(node);
    }
  }
}

ById<NodeId, Node> VictimBooks::without(const std::vector<bool>& gone) const {
  // The dear part of a trial: a copy of all nodes. least_step halves, so that there are few of
  // them.
  ById<NodeId, Node> nodes = base_;
  for (Node& node : nodes) {
    for (const Piece& piece : pieces(node.id)) {
      if (gone[piece.victim]) release(node, piece);
    }
  }
  return nodes;
}

const VictimBooks::Piece* VictimBooks::piece(NodeId node, std::size_t victim) const {
  // A handful: a node holds few jobs that may be stopped.
  for (const Piece& piece : pieces(node)) {
    if (piece.victim == victim) return &piece;
  }
  return nullptr;
}

// The books count nothing of a device that an executor holds. Without the executor's job they are
// what ours leave of it, and one of ours may have been given it, too.
void VictimBooks::settle_devices(Node& node, const std::vector<DeviceGrant>& devices) const {
  for (const DeviceGrant& grant : devices) {
    const auto device = static_cast<std::size_t>(grant.device);
    if (device >= node.device_free_milli.size()) continue;
    std::int32_t free = is_device_open(node, device) ? kWholeDevice_milli : 0;
    for (const JobId id : node.jobs) {
      if (free > 0) free -= held_of(*state_.find_job(id), node.id, grant.device);
    }
    node.device_free_milli[device] = free;
  }
}

void VictimBooks::release(Node& node, const Piece& piece) const {
  const ForeignJobPtr& foreign = foreign_[piece.victim];
  if (foreign == nullptr) {
    drop_sorted(node.jobs, jobs_[piece.victim]);
    core::release(node, piece.placement);
    return;
  }
  // First: what an executor holds counts as closed, and is not given back.
  std::erase_if(allocations_of(node, foreign->executor),
                [&](const ForeignAllocation& one) { return one.id == foreign->id; });
  core::release(node, piece.placement);
  settle_devices(node, piece.placement.devices);
}

void VictimBooks::hold(Node& node, const Piece& piece) const {
  allocate(node, piece.placement);
  const ForeignJobPtr& foreign = foreign_[piece.victim];
  if (foreign == nullptr) {
    add_sorted(node.jobs, jobs_[piece.victim]);
    return;
  }
  const auto& before = find_executor(base_[node.id], foreign->executor)->foreign;
  auto& now = allocations_of(node, foreign->executor);
  const auto is_it = [&](const ForeignAllocation& one) { return one.id == foreign->id; };
  const auto at = std::lower_bound(
      now.begin(), now.end(), foreign->id,
      [](const ForeignAllocation& one, const std::string& id) { return one.id < id; });
  now.insert(at, *std::find_if(before.begin(), before.end(), is_it));
  settle_devices(node, piece.placement.devices);
}

}  // namespace dove::core
