// VictimBooks: the nodes as they would be without some of the victims.
//
// What attempts that are being stopped hold counts as free. What is promised to other jobs counts
// as held, even if a victim holds it now. For one search and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/preempt/victims.h"
#include "core/state/state.h"

namespace dove::core {

class VictimBooks {
 public:
  // What one victim holds on a node and the beneficiary could have.
  struct Piece {
    std::size_t victim = 0;  // its place in the list
    Placement placement;
  };

  // `stopping`: the jobs whose attempts are being stopped; `promised`: those that were promised
  // places which nobody else may have. REQUIRES: `state` outlives this.
  VictimBooks(const State& state, std::span<const JobId> stopping, std::span<const JobId> promised);

  // From now on it is about these victims.
  void list(const std::vector<Victim>& victims);

  const ById<NodeId, Node>& base() const { return base_; }  // nobody is gone
  // `gone`: by victim.
  ById<NodeId, Node> without(const std::vector<bool>& gone) const;
  const std::vector<Piece>& pieces(NodeId node) const { return pieces_[node]; }
  const std::vector<NodeId>& nodes_of(std::size_t victim) const { return nodes_of_[victim]; }
  const Piece* piece(NodeId node, std::size_t victim) const;

  void release(Node& node, const Piece& piece) const;
  void hold(Node& node, const Piece& piece) const;

 private:
  void keep_promised(JobId job);
  Placement left_of(const Placement& placement, bool is_executors) const;
  void settle_devices(Node& node, const std::vector<DeviceGrant>& devices) const;

  const State& state_;
  ById<NodeId, Node> base_;
  ById<NodeId, CoreSet> cores_promised_;
  std::set<std::pair<NodeId, std::int32_t>> devices_promised_;  // that an executor holds now
  ById<NodeId, std::vector<Piece>> pieces_;
  std::vector<std::vector<NodeId>> nodes_of_;
  std::vector<JobId> jobs_;             // by victim
  std::vector<ForeignJobPtr> foreign_;  // by victim; null: one of ours
};

}  // namespace dove::core
