// ScoreIndex finds the node with the best score for a task among many.
//
// Nodes in equal state form a group. What a shape scores on a group is kept until the group's state
// changes, so that a search looks at groups, and scores only those that are new to the shape. Every
// answer is that of scoring all nodes. Used from one thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "core/collections/generation.h"
#include "core/place/score.h"

namespace dove::core {

class ScoreIndex {
 public:
  struct Choice {
    std::int32_t node = 0;             // its place in the order of nodes
    std::int32_t device = kAnyDevice;  // for a share
  };

  // `nodes` in the order in which ties are broken. `seed` is for Ties::kRandom.
  ScoreIndex(std::vector<FreeState> nodes, Ties ties, std::uint64_t seed);

  // From now on scores are those of `scorer`, which is not owned and must outlive its use here.
  void use(const Scorer* scorer);

  // An id for asking; equal shapes have equal ids.
  std::int32_t shape_id(const TaskShape& shape);

  // For Ties::kNext: `node` counts as the one that choose took last; none: the first is next.
  void set_taken(std::optional<std::int32_t> node) { taken_ = node.value_or(kNobody); }

  // The best node that has room; none when no node has. REQUIRES: a scorer is in use.
  std::optional<Choice> choose(std::int32_t shape_id);
  // The best nodes that have room, `most` at most, best first: as choose would name them if each
  // were full then. None when fewer than `least` have room. It moves no cursor. REQUIRES: a scorer
  // is in use; ties are not kRandom.
  std::vector<Choice> choose_many(std::int32_t shape_id, std::size_t least, std::size_t most);
  // The best of these nodes alone; each is named once.
  std::vector<Choice> choose_among(std::int32_t shape_id, std::span<const std::int32_t> nodes,
                                   std::size_t most);

  const FreeState& state(std::int32_t node) const;
  void set_state(std::int32_t node, FreeState state);
  // One more node, the last in order.
  void add(FreeState state);
  std::size_t nodes() const { return group_of_.size(); }

  std::size_t shapes() const { return scored_.size(); }
  // Ids of shapes given before are void.
  void forget_shapes();

 private:
  static constexpr std::int32_t kNobody = -1;

  struct Group {
    FreeState state;
    std::vector<std::int32_t> nodes;  // ascending; none: free to be another group
  };

  // What a shape scored, by group. Groups that changed since are in changes_ from `seen` on.
  struct Scored {
    TaskShape shape;
    Generation scoring;
    std::size_t seen = 0;
    std::vector<std::int64_t> values;
    std::vector<std::int32_t> devices;
  };

  void join(std::int32_t node, FreeState state);
  void leave(std::int32_t node);
  void refresh(Scored& scored);
  void score_group(Scored& scored, std::size_t group) const;
  // The groups with the best value; of several only the one with the first node if ties are kFirst.
  std::vector<std::int32_t> best_groups(const Scored& scored) const;
  std::int32_t pick_node(const std::vector<std::int32_t>& groups);
  std::int32_t any_device(const FreeState& state, const TaskShape& shape);
  Choice choice_of(const Scored& scored, std::int32_t node);
  std::int64_t order_of(std::int32_t node) const;
  std::size_t index_of_group(std::int32_t node) const {
    return static_cast<std::size_t>(group_of_[static_cast<std::size_t>(node)]);
  }

  const Scorer* scorer_ = nullptr;
  Ties ties_;
  Random random_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> first_;     // of each group; kNobody when it has none
  std::vector<std::int32_t> group_of_;  // by node
  std::vector<std::int32_t> vacant_;    // groups without nodes
  std::map<FreeState, std::int32_t> by_state_;
  Generation scoring_;                 // scores of older ones are void; use() begins the first
  std::vector<std::int32_t> changes_;  // groups with another state, in order of change
  std::map<TaskShape, std::int32_t> ids_;
  std::vector<Scored> scored_;    // by shape id
  std::int32_t taken_ = kNobody;  // the node chosen last
};

}  // namespace dove::core
