// ScoreBoard: scores for the live cluster. Where a job goes best that takes a node, or several
// alike.
//
// It keeps a ScoreIndex for each pool that was asked about, and the mix of all live jobs: what each
// takes of each of its nodes (core/place/node_shape.h). It is an
// index: its answers are a function of the State alone, whatever it was asked before, and so
// deciding again gives the same. Nothing is worked out before somebody asks.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/place/node_shape.h"
#include "core/place/score.h"
#include "core/place/score_index.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// The policy of that name, with or without its version, "-" and "_" being the same; null when it is
// not among them, or is what `placement` does for all jobs.
const ScorePolicy* find_score(const Policies& policies, std::string_view name);

class ScoreBoard {
 public:
  // Null: there are no scores. The policy lives as long as this.
  void use(const ScorePolicy* policy) { policy_ = policy; }

  // The job has become live, or is no more.
  void add(const JobSpec& spec) { count(spec, 1); }
  void remove(const JobSpec& spec) { count(spec, -1); }

  // Something of the node may have changed: what is free, whether it is available.
  void touch(NodeId node) {
    if (policy_ == nullptr) return;
    is_touched_.reach(node);
    if (!is_touched_[node]) touched_.push_back(node);
    is_touched_[node] = true;
  }

  struct Choice {
    NodeId node;
    std::int32_t device = kAnyDevice;  // for a share
    bool operator==(const Choice&) const = default;
  };
  // Which nodes are wanted.
  struct Wanted {
    std::size_t spare = 0;                       // beyond those that the job takes
    const std::vector<NodeId>* among = nullptr;  // of the pool's; null: of all
  };
  // The best nodes of the pool, best first: as many as the job takes, and up to `spare` more. None
  // when the job is of a kind that is not scored, or too few nodes that are scored have room.
  // `open` says whether a node is of the pool and takes work.
  std::vector<Choice> choose(const State& state, const std::string& pool, const JobSpec& spec,
                             const std::function<bool(NodeId)>& open, const Wanted& wanted);

 private:
  // What is asked for of a node, as far as it matters to the mix.
  struct Asked {
    std::int64_t cores = 0;
    std::int64_t gpus = 0;
    std::int32_t share_milli = 0;
    std::string model;
    std::int64_t device_memory_bytes = 0;
    auto operator<=>(const Asked&) const = default;
  };
  // Devices that no job can tell apart.
  struct DeviceKind {
    std::string kind;
    std::string model;
    std::int64_t memory_bytes = 0;
    auto operator<=>(const DeviceKind&) const = default;
  };
  // What a node is, if all its devices are alike.
  struct Devices {
    DeviceKind kind;
    std::size_t count = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    auto operator<=>(const Devices&) const = default;
  };
  struct NumberedKind {
    std::int32_t number = 0;
    std::int32_t slice_table = kNoTable;
    std::int64_t nodes = 0;
  };
  // Ties go to nodes with fewer devices, so that large ones stay whole, then to the older node;
  // round robin goes on from its cursor, around the end of this order.
  struct PoolIndex {
    explicit PoolIndex(Ties ties) : index({}, ties, 0) {}
    ScoreIndex index;
    std::vector<NodeId> order;
    ById<NodeId, std::int32_t> places;  // in that order
    std::set<NodeId> changed;           // since it was asked last
    std::uint64_t scorer = 0;           // the number of the one it uses
  };

  static std::optional<Devices> devices_of(const Node& node);
  void count(const JobSpec& spec, std::int64_t sign);
  void look_at_touched(const State& state);
  void set_devices(NodeId node, const std::optional<Devices>& devices);
  static Device device_of(const DeviceKind& kind);
  NodeClass class_of(const Devices& devices) const;
  PoolIndex& index_of(const State& state, const std::string& pool);
  FreeState state_of(const Node& node) const;
  TaskShape shape_of(const NodeShape& asked) const;
  bool is_scored(const JobSpec& spec, const NodeShape& asked) const;
  std::vector<ScoreIndex::Choice> best_of(PoolIndex& index, const NodeShape& asked,
                                          const Wanted& wanted) const;
  void prepare();

  const ScorePolicy* policy_ = nullptr;
  std::vector<NodeId> touched_;  // each once
  ById<NodeId, bool> is_touched_;
  ById<NodeId, std::shared_ptr<const Inventory>> inventories_;  // as last looked at
  std::map<DeviceKind, NumberedKind> kinds_;
  ById<NodeId, std::optional<Devices>> devices_;  // none unless all are alike
  std::map<Devices, std::int64_t> alike_;         // the number of nodes alike
  std::map<std::string, PoolIndex> indexes_;
  std::map<Asked, std::int64_t> live_;    // nodes that they take with devices
  std::int64_t live_slices_ = 0;          // jobs that ask for some
  bool is_stale_ = true;                  // the scorer is not that of mix, classes and kinds
  std::unique_ptr<const Scorer> scorer_;  // null once prepared: scores gain nothing, but for slices
  std::uint64_t number_ = 0;              // of the scorer
};

}  // namespace dove::core
