#include "core/preempt/victim_books.h"

#include "core/collections/sorted.h"
#include "core/state/books.h"

namespace dove::core {

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
  }
}

Placement VictimBooks::left_of(const Placement& placement) const {
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
  return left;
}

void VictimBooks::list(const std::vector<Victim>& victims) {
  // By node, as the search asks one node at a time what could be freed there.
  pieces_.assign(base_.size(), {});
  nodes_of_.assign(victims.size(), {});
  jobs_.clear();
  for (std::size_t i = 0; i < victims.size(); ++i) {
    jobs_.push_back(victims[i].job);
    for (const PlacementRecord& record :
         state_.find_job(victims[i].job)->attempts.back().placements) {
      if (record.stage == PlacementStage::kEnded) continue;
      const NodeId node = record.placement->node;
      pieces_[node].push_back({i, left_of(record.placement)});
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

void VictimBooks::release(Node& node, const Piece& piece) const {
  core::release(node, piece.placement);
  drop_sorted(node.jobs, jobs_[piece.victim]);
}

void VictimBooks::hold(Node& node, const Piece& piece) const {
  allocate(node, piece.placement);
  add_sorted(node.jobs, jobs_[piece.victim]);
}

}  // namespace dove::core
