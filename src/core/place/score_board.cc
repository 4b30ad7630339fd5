#include "core/place/score_board.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "core/place/fit.h"
#include "core/place/mix.h"
#include "core/state/round_robin.h"

namespace dove::core {
namespace {

constexpr std::int64_t kCore_milli = 1000;
constexpr std::int64_t kDevicesMax = 1 << 20;  // more than any node has
constexpr std::size_t kShapesMax = 512;        // remembered by the index of a pool

bool wants_slices(const JobSpec& spec) {
  return std::any_of(spec.groups.begin(), spec.groups.end(), [](const TaskGroup& group) {
    return group.per_task.slices > 0 || group.per_node.slices > 0;
  });
}

FreeState closed() {
  FreeState state;
  state.takes_more = false;
  return state;
}

// What best_fit prefers, for slices where the policy has nothing to gain.
class LeastFree final : public Scorer {
 public:
  Score score(const FreeState& node, const TaskShape&) const override {
    constexpr std::int64_t kCpuLimit_milli = std::int64_t{1} << 32;  // more than any node has
    return {-node.gpus_milli() * kCpuLimit_milli - node.cpu_milli};
  }
};

const LeastFree kLeast_free;

// kNoTable when such a device cannot be cut.
std::int32_t table_of(const Device& device) {
  const SliceTable* table = slice_table(device);
  return table == nullptr ? kNoTable : static_cast<std::int32_t>(table - slice_tables().data());
}

// The profile as tables name it, which stays; "" when none knows it.
std::string_view profile_called(std::string_view name) {
  for (const SliceTable& table : slice_tables()) {
    if (const SliceProfile* found = find_profile(table, name)) return found->name;
  }
  return "";
}

std::uint64_t coarse(std::int64_t count) {
  return std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

}  // namespace

const ScorePolicy* find_score(const Policies& policies, std::string_view name) {
  if (policies.placement != nullptr && is_called(policies.placement->name(), name)) return nullptr;
  for (const ScorePolicy* score : policies.scores) {
    if (is_called(score->name(), name)) return score;
    const std::string_view former = score->former_name();
    if (!former.empty() && is_called(former, name)) return score;
  }
  return nullptr;
}

std::optional<ScoreBoard::Devices> ScoreBoard::devices_of(const Node& node) {
  if (node.inventory == nullptr) return std::nullopt;
  const Inventory& inventory = *node.inventory;
  Devices found;
  const auto kind_of = [](const Device& device) {
    return DeviceKind{device.kind, device.model, device.memory_bytes};
  };
  if (!inventory.devices.empty()) found.kind = kind_of(inventory.devices.front());
  if (std::any_of(inventory.devices.begin(), inventory.devices.end(),
                  // One device that differs makes scores by class wrong, and such nodes are rare:
                  // they are left to the search.
                  [&](const Device& device) { return kind_of(device) != found.kind; })) {
    return std::nullopt;
  }
  found.count = inventory.devices.size();
  for (const NumaNode& numa : inventory.numa) {
    found.cpu_milli += static_cast<std::int64_t>(numa.cores.size()) * kCore_milli;
  }
  found.memory_bytes = inventory.memory_bytes;
  return found;
}

// Counts matter to a power of two: the scorer is good for a while.
void ScoreBoard::count(const JobSpec& spec, std::int64_t sign) {
  if (policy_ == nullptr) return;
  if (wants_slices(spec)) live_slices_ += sign;
  if (policy_->learns() == Learns::kNothing) return;
  // Counted apart by model, tasks that name one would be rounded down and left out as rare: the mix
  // would say least of them.
  const bool by_model = policy_->learns() == Learns::kTasks;
  // Score policies are about devices: the tasks without any would only blur the mix.
  for (const TaskGroup& group : spec.groups) {
    const NodeShape it = node_shape(group);
    if (!it.has_devices()) continue;
    const auto at =
        live_
            .try_emplace({it.cores, it.gpus, it.share_milli, by_model ? it.devices->gpu_model : "",
                          by_model ? it.devices->gpu_memory_bytes : 0})
            .first;
    const std::uint64_t before = coarse(at->second);
    at->second += sign * it.nodes;
    // Only a change of its power of two makes the scorer stale. To prepare one costs far more than
    // to use it, and a mix that is a little off decides the same.
    if (coarse(at->second) != before) is_stale_ = true;
    CHECK(at->second >= 0, "a job is removed that was not added");
    if (at->second == 0) live_.erase(at);
  }
}

void ScoreBoard::set_devices(NodeId node, const std::optional<Devices>& devices) {
  devices_.reach(node);
  std::optional<Devices>& now = devices_[node];
  if (now == devices) return;
  // What a class is has changed, and with it every score: indexes are built anew when they are
  // asked.
  is_stale_ = true;
  indexes_.clear();
  if (now) {
    const auto at = kinds_.find(now->kind);
    if (--at->second.nodes == 0) kinds_.erase(at);
    const auto alike = alike_.find(*now);
    if (--alike->second == 0) alike_.erase(alike);
  }
  now = devices;
  if (!devices) return;
  ++alike_[*devices];
  const auto [at, is_new] = kinds_.try_emplace(devices->kind);
  ++at->second.nodes;
  if (!is_new) return;
  std::set<std::int32_t> taken;
  // The smallest number that is free: numbers are bits of a mask (TaskShape::models), of which
  // there are few.
  for (const auto& [other, entry] : kinds_) {
    if (other != devices->kind) taken.insert(entry.number);
  }
  std::int32_t number = 0;
  while (taken.contains(number)) ++number;
  at->second.number = number;
  at->second.slice_table = table_of(device_of(devices->kind));
}

Device ScoreBoard::device_of(const DeviceKind& kind) {
  Device device;
  device.kind = kind.kind;
  device.model = kind.model;
  device.memory_bytes = kind.memory_bytes;
  return device;
}

void ScoreBoard::look_at_touched(const State& state) {
  inventories_.resize(state.nodes.size());
  for (NodeId id : touched_) {
    is_touched_[id] = false;
    const Node& node = state.nodes[id];
    // What is free is read when somebody asks; a node that changes ten times before is looked at
    // once.
    for (auto& [name, index] : indexes_) index.changed.insert(id);
    auto& seen = inventories_[id];
    // Inventories are shared and never changed in place, so an equal pointer is an equal inventory.
    if (seen == node.inventory && node.inventory != nullptr) continue;
    seen = node.inventory;
    set_devices(id, devices_of(node));
  }
  touched_.clear();
}

NodeClass ScoreBoard::class_of(const Devices& devices) const {
  const NumberedKind& kind = kinds_.at(devices.kind);
  return {kind.number, devices.cpu_milli, devices.memory_bytes,
          static_cast<std::int32_t>(devices.count), kind.slice_table};
}

FreeState ScoreBoard::state_of(const Node& node) const {
  const std::optional<Devices>& devices = devices_[node.id];
  if (!devices) return closed();
  FreeState state;
  state.node_class = class_of(*devices);
  state.cpu_milli = static_cast<std::int64_t>(node.cores_free.size()) * kCore_milli;
  // Copied: the index groups nodes by it.
  state.memory_bytes = node.memory_free_bytes;
  state.devices_milli = node.device_free_milli;
  for (std::size_t i = 0; i < node.slots_taken.size(); ++i) {
    if (!is_sliced(node.slots_taken, i)) continue;
    // Whatever is free of it, to whole and shared use it is closed. Only where some device is cut
    // is a state told apart by slots.
    state.devices_milli[i] = 0;
    state.slots_taken = node.slots_taken;
  }
  return state;
}

TaskShape ScoreBoard::shape_of(const NodeShape& asked) const {
  TaskShape shape;
  shape.cpu_milli = asked.cores * kCore_milli;
  shape.memory_bytes = asked.memory_bytes;
  if (asked.devices == nullptr) return shape;
  if (asked.slices > 0) {
    shape.slices = static_cast<std::int32_t>(std::min(asked.slices, kDevicesMax));
    shape.slice = profile_called(asked.devices->slice);
  }
  const bool is_share = asked.share_milli > 0;
  shape.devices =
      static_cast<std::int32_t>(std::min(is_share ? asked.shares : asked.gpus, kDevicesMax));
  if (shape.devices > 0) shape.device_milli = is_share ? asked.share_milli : kWholeDevice_milli;
  // Which kinds of devices will do, as a mask: the name is compared here once, not on each node.
  shape.models = 0;
  for (const auto& [kind, entry] : kinds_) {
    if (matches(*asked.devices, device_of(kind))) shape.models |= std::uint64_t{1} << entry.number;
  }
  return shape;
}

// From the mix in powers of two, so that equal counts of that kind give equal scores, whatever came
// in between.
void ScoreBoard::prepare() {
  Mix mix;
  for (const auto& [asked, count] : live_) {
    Request devices;
    devices.gpu_model = asked.model;
    devices.gpu_memory_bytes = asked.device_memory_bytes;
    NodeShape it;
    it.cores = asked.cores;
    it.gpus = asked.gpus;
    it.share_milli = asked.share_milli;
    it.shares = asked.share_milli > 0 ? 1 : 0;
    it.devices = &devices;
    TaskShape shape = shape_of(it);
    if (policy_->learns() == Learns::kSizes) shape.models = kAnyModel;
    mix.add(shape, static_cast<std::int64_t>(coarse(count)));
  }
  std::vector<NodeClass> classes;
  // alike_ is sorted: the classes come in the same order on every run.
  for (const auto& [devices, nodes] : alike_) classes.push_back(class_of(devices));
  scorer_ = policy_->prepare(mix.typical(), classes);
  ++number_;
  is_stale_ = false;
}

ScoreBoard::PoolIndex& ScoreBoard::index_of(const State& state, const std::string& pool) {
  PoolIndex& index = indexes_.try_emplace(pool, policy_->ties()).first->second;
  // Nodes have joined. That is rare, and a new index is simpler than a renumbered one.
  if (index.order.size() != state.nodes.size()) {
    index = PoolIndex(policy_->ties());
    for (const Node& node : state.nodes) {
      index.order.push_back(node.id);
      index.changed.insert(node.id);
      // Closed at first: each is opened below, when its state is read with those that changed.
      index.index.add(closed());
    }
    devices_.resize(state.nodes.size());
    const auto count_of = [&](NodeId id) {
      const std::optional<Devices>& devices = devices_[id];
      return devices ? devices->count : 0;
    };
    std::stable_sort(index.order.begin(), index.order.end(),
                     [&](NodeId a, NodeId b) { return count_of(a) < count_of(b); });
    index.places.resize(index.order.size());
    for (std::size_t i = 0; i < index.order.size(); ++i) {
      index.places[index.order[i]] = static_cast<std::int32_t>(i);
    }
  }
  // A site that submits ever new shapes would have it grow without end.
  if (index.index.shapes() > kShapesMax) index.index.forget_shapes();
  return index;
}

bool ScoreBoard::is_scored(const JobSpec& spec, const NodeShape& asked) const {
  // The cursor is moved by folding: scored, but moving none, jobs of other shapes would all go to
  // the same node.
  if (policy_->ties() == Ties::kNext) return moves_cursor(spec);
  // Cores that devices will need are worth something only where it is known what is to come.
  return policy_->learns() != Learns::kNothing || asked.devices != nullptr;
}

std::vector<ScoreIndex::Choice> ScoreBoard::best_of(PoolIndex& index, const NodeShape& asked,
                                                    const Wanted& wanted) const {
  const std::int32_t shape = index.index.shape_id(shape_of(asked));
  const auto least = static_cast<std::size_t>(asked.nodes);
  const std::size_t most = least + wanted.spare;
  if (wanted.among != nullptr) {
    std::vector<std::int32_t> places;
    for (NodeId node : *wanted.among) places.push_back(index.places[node]);
    auto found = index.index.choose_among(shape, places, most);
    if (found.size() < least) found.clear();
    return found;
  }
  if (most > 1) return index.index.choose_many(shape, least, most);
  const auto found = index.index.choose(shape);
  if (!found) return {};
  return {*found};
}

std::vector<ScoreBoard::Choice> ScoreBoard::choose(const State& state, const std::string& pool,
                                                   const JobSpec& spec,
                                                   const std::function<bool(NodeId)>& open,
                                                   const Wanted& wanted) {
  if (policy_ == nullptr) return {};
  look_at_touched(state);
  // The masks are full. A choice by a part of the kinds would depend on which came first, so the
  // search decides all.
  if (kinds_.size() > static_cast<std::size_t>(kModelsMax)) {
    indexes_.clear();
    return {};
  }
  if (is_stale_) prepare();
  // The policy has nothing to gain from this mix, but that slices leave devices whole: an index
  // that nobody asks is not kept up to date.
  if (scorer_ == nullptr && live_slices_ == 0) indexes_.clear();
  if (scorer_ == nullptr && !wants_slices(spec)) return {};
  // Asked late, as most clusters ask for whole devices with cores enough, and end above.
  const std::optional<NodeShape> asked = scored_shape(spec);
  if (!asked || !is_scored(spec, *asked)) return {};
  // Built or not, it is a function of the state: replay asks other questions first, and gets the
  // same node.
  PoolIndex& index = index_of(state, pool);
  for (NodeId id : index.changed) {
    FreeState now = open(id) ? state_of(state.nodes[id]) : closed();
    index.index.set_state(index.places[id], std::move(now));
  }
  index.changed.clear();
  if (index.scorer != number_) {
    index.index.use(scorer_ == nullptr ? &kLeast_free : scorer_.get());
    index.scorer = number_;
  }
  if (policy_->ties() == Ties::kNext) {
    const auto last = state.round_robin.find(pool);
    index.index.set_taken(
        last == state.round_robin.end() ? std::nullopt : std::optional(index.places[last->second]));
  }
  std::vector<Choice> choices;
  for (const auto& best : best_of(index, *asked, wanted)) {
    choices.push_back({index.order[static_cast<std::size_t>(best.node)], best.device});
  }
  return choices;
}

}  // namespace dove::core
