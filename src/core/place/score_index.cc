#include "core/place/score_index.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/check.h"

namespace dove::core {
namespace {

constexpr std::int64_t kNoRoom = std::numeric_limits<std::int64_t>::min();

}  // namespace

ScoreIndex::ScoreIndex(std::vector<FreeState> nodes, Ties ties, std::uint64_t seed)
    : ties_(ties), random_(seed), group_of_(nodes.size(), kNobody) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    join(static_cast<std::int32_t>(i), std::move(nodes[i]));
  }
}

void ScoreIndex::use(const Scorer* scorer) {
  scorer_ = scorer;
  // Nothing that was scored by another scorer is of use; a new generation makes every shape score
  // anew when it is next asked about.
  changes_.clear();
  scoring_.move_on();
}

std::int32_t ScoreIndex::shape_id(const TaskShape& shape) {
  const auto [at, is_new] = ids_.try_emplace(shape, static_cast<std::int32_t>(scored_.size()));
  if (is_new) {
    scored_.emplace_back();
    scored_.back().shape = shape;
  }
  return at->second;
}

const FreeState& ScoreIndex::state(std::int32_t node) const {
  return groups_[static_cast<std::size_t>(group_of_[static_cast<std::size_t>(node)])].state;
}

void ScoreIndex::set_state(std::int32_t node, FreeState state) {
  // The group of the old state may vanish and its number be used again at once. `changes_` then
  // names it, so no shape keeps a score of what it was.
  leave(node);
  join(node, std::move(state));
}

void ScoreIndex::add(FreeState state) {
  group_of_.push_back(kNobody);
  join(static_cast<std::int32_t>(group_of_.size()) - 1, std::move(state));
}

void ScoreIndex::forget_shapes() {
  ids_.clear();
  scored_.clear();
}

void ScoreIndex::leave(std::int32_t node) {
  // Nodes lie sorted in their group, which makes ties independent of the order of changes.
  const std::int32_t id = group_of_[static_cast<std::size_t>(node)];
  Group& group = groups_[static_cast<std::size_t>(id)];
  group.nodes.erase(std::lower_bound(group.nodes.begin(), group.nodes.end(), node));
  first_[static_cast<std::size_t>(id)] = group.nodes.empty() ? kNobody : group.nodes.front();
  if (!group.nodes.empty()) return;
  by_state_.erase(group.state);
  // Numbers are used again: the arrays of scores stay as long as there ever were groups at one
  // time, not as there were states.
  vacant_.push_back(id);
}

void ScoreIndex::join(std::int32_t node, FreeState state) {
  const auto [at, is_new] = by_state_.try_emplace(std::move(state), kNobody);
  if (is_new) {
    if (vacant_.empty()) {
      at->second = static_cast<std::int32_t>(groups_.size());
      groups_.emplace_back();
      first_.push_back(kNobody);
    } else {
      at->second = vacant_.back();
      vacant_.pop_back();
    }
    groups_[static_cast<std::size_t>(at->second)].state = at->first;
    // The bound keeps the list in proportion to the groups; a round through it costs a shape no
    // more than four scorings of all.
    // Shapes that have seen little of a long list are better off scoring all groups again.
    if (changes_.size() > 4 * groups_.size() + 1024) {
      changes_.clear();
      scoring_.move_on();
    }
    changes_.push_back(at->second);
  }
  Group& group = groups_[static_cast<std::size_t>(at->second)];
  group.nodes.insert(std::lower_bound(group.nodes.begin(), group.nodes.end(), node), node);
  first_[static_cast<std::size_t>(at->second)] = group.nodes.front();
  group_of_[static_cast<std::size_t>(node)] = at->second;
}

void ScoreIndex::score_group(Scored& scored, std::size_t group) const {
  const FreeState& state = groups_[group].state;
  // A vacant group scores as one without room. It may be asked about before it is used again.
  if (groups_[group].nodes.empty() || !fits(state, scored.shape)) {
    scored.values[group] = kNoRoom;
    return;
  }
  const Score score = scored.shape.slices > 0 ? score_of_slices(*scorer_, state, scored.shape)
                      : scored.shape.is_several_shares()
                          ? score_of_shares(*scorer_, state, scored.shape)
                          : scorer_->score(state, scored.shape);
  scored.values[group] = score.value;
  scored.devices[group] = score.device;
}

void ScoreIndex::refresh(Scored& scored) {
  CHECK(scorer_ != nullptr, "scores need a scorer");
  // New groups are in changes_ as well, so growing with kNoRoom never leaves one unscored.
  scored.values.resize(groups_.size(), kNoRoom);
  scored.devices.resize(groups_.size(), kAnyDevice);
  if (scored.scoring != scoring_) {
    for (std::size_t i = 0; i < groups_.size(); ++i) score_group(scored, i);
  } else {
    for (std::size_t i = scored.seen; i < changes_.size(); ++i) {
      score_group(scored, static_cast<std::size_t>(changes_[i]));
    }
  }
  scored.scoring = scoring_;
  scored.seen = changes_.size();
}

std::vector<std::int32_t> ScoreIndex::best_groups(const Scored& scored) const {
  std::vector<std::int32_t> best;
  std::int64_t best_value = kNoRoom;
  std::int32_t best_first = kNobody;
  // A loop over plain arrays: with a few thousand groups this scan is most of a choice, and it
  // needs no heap through which changes would have to be sifted.
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const std::int64_t value = scored.values[i];
    // Comparing values first settles nearly all; only ties look at the order.
    if (value < best_value || value == kNoRoom || first_[i] == kNobody) continue;
    const bool tie = value == best_value;
    if (tie && ties_ == Ties::kFirst && first_[i] > best_first) continue;
    if (!tie || ties_ == Ties::kFirst) best.clear();
    best.push_back(static_cast<std::int32_t>(i));
    // For kFirst only the group with the foremost node is needed; for the others all that are as
    // good.
    best_value = value;
    best_first = first_[i];
  }
  return best;
}

std::int32_t ScoreIndex::pick_node(const std::vector<std::int32_t>& groups) {
  const auto nodes_of = [&](std::int32_t id) -> const std::vector<std::int32_t>& {
    return groups_[static_cast<std::size_t>(id)].nodes;
  };
  switch (ties_) {
    case Ties::kFirst:
      return nodes_of(groups.front()).front();
    case Ties::kNext: {
      // A round-robin cursor: the first node behind the one taken last, or the first of all behind
      // the end.
      std::int32_t first = std::numeric_limits<std::int32_t>::max();
      std::int32_t next = first;
      for (std::int32_t id : groups) {
        const auto& nodes = nodes_of(id);
        first = std::min(first, nodes.front());
        const auto after = std::upper_bound(nodes.begin(), nodes.end(), taken_);
        if (after != nodes.end()) next = std::min(next, *after);
      }
      return next == std::numeric_limits<std::int32_t>::max() ? first : next;
    }
    case Ties::kRandom:
      break;
  }
  // A random node of all tied ones, not of a random group: each node is as likely as another.
  std::uint64_t total = 0;
  for (std::int32_t id : groups) total += nodes_of(id).size();
  std::uint64_t at = random_.below(total);
  std::size_t group = 0;
  while (at >= nodes_of(groups[group]).size()) at -= nodes_of(groups[group++]).size();
  return nodes_of(groups[group])[at];
}

std::int32_t ScoreIndex::any_device(const FreeState& state, const TaskShape& shape) {
  // Which device of a node is as open as which node: policies that break ties at random do so here,
  // too.
  if (ties_ != Ties::kRandom) return tightest_device(state, shape);
  std::vector<std::int32_t> with_room;
  for (std::size_t i = 0; i < state.devices_milli.size(); ++i) {
    if (state.devices_milli[i] >= shape.device_milli) {
      with_room.push_back(static_cast<std::int32_t>(i));
    }
  }
  return with_room[random_.below(with_room.size())];
}

std::optional<ScoreIndex::Choice> ScoreIndex::choose(std::int32_t shape_id) {
  Scored& scored = scored_[static_cast<std::size_t>(shape_id)];
  refresh(scored);
  const std::vector<std::int32_t> groups = best_groups(scored);
  if (groups.empty()) return std::nullopt;
  taken_ = pick_node(groups);
  return choice_of(scored, taken_);
}

ScoreIndex::Choice ScoreIndex::choice_of(const Scored& scored, std::int32_t node) {
  Choice choice;
  choice.node = node;
  if (scored.shape.is_share()) {
    choice.device = scored.devices[index_of_group(node)];
    // The scorer said that devices do not matter to it.
    if (choice.device == kAnyDevice) choice.device = any_device(state(node), scored.shape);
  }
  return choice;
}

// The place of a node among equals: behind all others if the cursor has passed it.
std::int64_t ScoreIndex::order_of(std::int32_t node) const {
  CHECK(ties_ != Ties::kRandom, "several nodes are chosen in an order");
  const bool has_passed = ties_ == Ties::kNext && node <= taken_;
  return node + (has_passed ? std::ssize(group_of_) : 0);
}

std::vector<ScoreIndex::Choice> ScoreIndex::choose_many(std::int32_t shape_id, std::size_t least,
                                                        std::size_t most) {
  Scored& scored = scored_[static_cast<std::size_t>(shape_id)];
  refresh(scored);
  // The next node of a group, in the order of ties.
  struct Next {
    std::int64_t value;
    std::int64_t order;
    std::size_t group;
    std::size_t at;  // among its nodes
  };
  std::vector<Next> heap;
  std::size_t with_room = 0;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    if (first_[i] == kNobody || scored.values[i] == kNoRoom) continue;
    const auto& nodes = groups_[i].nodes;
    auto from = nodes.begin();
    if (ties_ == Ties::kNext) from = std::upper_bound(nodes.begin(), nodes.end(), taken_);
    if (from == nodes.end()) from = nodes.begin();
    with_room += nodes.size();
    heap.push_back(
        {scored.values[i], order_of(*from), i, static_cast<std::size_t>(from - nodes.begin())});
  }
  if (with_room < least) return {};
  const auto is_worse = [](const Next& a, const Next& b) {
    return a.value != b.value ? a.value < b.value : a.order > b.order;
  };
  // A heap, and not a sort: as many groups are looked at further as nodes are asked for.
  std::make_heap(heap.begin(), heap.end(), is_worse);
  std::vector<Choice> found;
  while (!heap.empty() && found.size() < most) {
    std::pop_heap(heap.begin(), heap.end(), is_worse);
    Next& best = heap.back();
    const auto& nodes = groups_[best.group].nodes;
    found.push_back(choice_of(scored, nodes[best.at]));
    best.at = (best.at + 1) % nodes.size();
    const std::int64_t order = order_of(nodes[best.at]);
    // Around the end of its nodes there are none but those that it has named.
    if (order <= best.order) {
      heap.pop_back();
      continue;
    }
    best.order = order;
    std::push_heap(heap.begin(), heap.end(), is_worse);
  }
  return found;
}

std::vector<ScoreIndex::Choice> ScoreIndex::choose_among(std::int32_t shape_id,
                                                         std::span<const std::int32_t> nodes,
                                                         std::size_t most) {
  Scored& scored = scored_[static_cast<std::size_t>(shape_id)];
  refresh(scored);
  std::vector<std::pair<std::int64_t, std::int32_t>> order;  // and the node
  for (std::int32_t node : nodes) {
    if (scored.values[index_of_group(node)] != kNoRoom) order.emplace_back(order_of(node), node);
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](const auto& a, const auto& b) {
    const std::int64_t value_a = scored.values[index_of_group(a.second)];
    const std::int64_t value_b = scored.values[index_of_group(b.second)];
    return value_a != value_b ? value_a > value_b : a.first < b.first;
  });
  std::vector<Choice> found;
  for (auto at = order.begin(); at != end; ++at) found.push_back(choice_of(scored, at->second));
  return found;
}

}  // namespace dove::core
