#include "core/place/place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/place/node_search.h"
#include "text/feature_expression.h"

namespace dove::core {
namespace {

// At most this number of unions of units is tried before all nodes are: rooms do not always add up.
constexpr std::size_t kUnions_max = 16;

using Places = std::optional<std::vector<Placement>>;

// What a task of any group needs at least.
// The smallest of each part, over groups: below that a node can hold no task of any group, so
// leaving it out loses nothing.
NodeNeeds least_of(const JobSpec& spec) {
  NodeNeeds least = core::needs_of(spec.groups.front(), 1);
  for (const TaskGroup& group : spec.groups) {
    const NodeNeeds needs = core::needs_of(group, 1);
    least.gpus_milli = std::min(least.gpus_milli, needs.gpus_milli);
    least.cores = std::min(least.cores, needs.cores);
    least.memory_bytes = std::min(least.memory_bytes, needs.memory_bytes);
  }
  return least;
}

// The group that asks for most: by its room units are compared.
const TaskGroup& main_group(const JobSpec& spec) {
  // Devices before cores: they are scarce, and what splits a gang over units.
  const auto weight = [](const TaskGroup& group) {
    const NodeNeeds needs = core::needs_of(group, group.tasks);
    return std::tuple(needs.gpus_milli, needs.cores, needs.memory_bytes, group.tasks);
  };
  const TaskGroup* main = &spec.groups.front();
  for (const TaskGroup& group : spec.groups) {
    if (weight(group) > weight(*main)) main = &group;
  }
  return *main;
}

class Choice {
 public:
  Choice(const Candidates& candidates, const Domains& domains, const PlacementPolicy& policy,
         const JobSpec& spec, std::span<const NodeId> avoided)
      : candidates_(candidates),
        domains_(domains),
        policy_(policy),
        spec_(spec),
        avoided_(avoided),
        needs_(needs_of(spec)),
        least_(least_of(spec)) {}

  Places in_one(const std::vector<std::int32_t>& units) const;
  Places in_fewest(const std::vector<std::int32_t>& units) const;
  Places on_one_node() const;

 private:
  struct Room {
    std::int32_t unit;
    std::int64_t tasks;
  };

  Places among(const RankedNodes& ranked) const {
    return find_places_among(ranked, candidates_, policy_, spec_, avoided_);
  }
  std::vector<Room> roomiest_first(const std::vector<std::int32_t>& units) const;
  // The first `count` of the units, the last of them exchanged for the one with the least room that
  // will do.
  Places in_first(const std::vector<Room>& rooms, std::size_t count) const;
  Places in_roomiest(const std::vector<Room>& rooms, std::size_t count) const;
  std::map<std::int32_t, std::vector<Room>> below(const std::vector<Room>& rooms,
                                                  const std::vector<std::int32_t>& units) const;

  const Candidates& candidates_;
  const Domains& domains_;
  const PlacementPolicy& policy_;
  const JobSpec& spec_;
  std::span<const NodeId> avoided_;
  NodeNeeds needs_;
  NodeNeeds least_;  // of a node, to be of any use
};

Places Choice::in_one(const std::vector<std::int32_t>& units) const {
  for (std::int32_t at : units) {
    const Domains::Unit& unit = domains_.unit(at);
    // A unit's sum says no without a visit to its nodes: most switches of a full cluster are passed
    // over in one comparison.
    if (!covers(unit.free, needs_)) continue;
    // Units come tightest first: the first that will do leaves the larger ones whole.
    if (Places found = among(domains_.ranked(at, least_))) return found;
  }
  return std::nullopt;
}

Places Choice::on_one_node() const {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto& ranked = *candidates_.ranked;
  // A node's rank says what it has free, as for a search, so runs of full nodes are skipped.
  auto at = ranked.lower_bound({policy_.skip({kLeast, kLeast, kLeast}, needs_), NodeId{}});
  // One node after the other, as the policy would take them.
  for (; at != ranked.end(); ++at) {
    const Node& node = (*candidates_.nodes)[at->node];
    const NodeFree free =
        candidates_.views == nullptr ? free_of(node) : free_of((*candidates_.views)[at->node]);
    if (!covers(free, needs_)) continue;
    if (Places found = among({*at})) return found;
  }
  return std::nullopt;
}

std::vector<Choice::Room> Choice::roomiest_first(const std::vector<std::int32_t>& units) const {
  const TaskGroup& group = main_group(spec_);
  std::vector<Room> rooms;
  for (std::int32_t at : units) {
    const std::int64_t tasks =
        room_among(domains_.ranked(at, least_), candidates_, policy_, spec_, group, avoided_);
    if (tasks > 0) rooms.push_back({at, tasks});
  }
  // The units come tightest first, and stay so where their room is equal.
  std::stable_sort(rooms.begin(), rooms.end(),
                   [](const Room& a, const Room& b) { return a.tasks > b.tasks; });
  return rooms;
}

// How many units, roomiest first, have room for these tasks together; 0: all units have too little.
std::size_t fewest(const auto& rooms, std::int64_t tasks) {
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    // By the room of the main group alone. Other groups may not fit then, which the search itself
    // finds out.
    tasks -= rooms[i].tasks;
    if (tasks <= 0) return i + 1;
  }
  return 0;
}

Places Choice::in_first(const std::vector<Room>& rooms, std::size_t count) const {
  RankedNodes ranked;
  std::int64_t left = main_group(spec_).tasks;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const auto more = domains_.ranked(rooms[i].unit, least_);
    ranked.insert(more.begin(), more.end());
    left -= rooms[i].tasks;
  }
  std::size_t last = count - 1;
  // The last unit only has to take what the others leave. The one with the least room that can
  // spares a roomier one.
  for (std::size_t i = count; i < rooms.size() && rooms[i].tasks >= left; ++i) {
    if (rooms[i].tasks < rooms[last].tasks) last = i;
  }
  const auto more = domains_.ranked(rooms[last].unit, least_);
  ranked.insert(more.begin(), more.end());
  return among(ranked);
}

Places Choice::in_roomiest(const std::vector<Room>& rooms, std::size_t count) const {
  RankedNodes ranked;
  for (std::size_t i = 0; i < count; ++i) {
    const auto more = domains_.ranked(rooms[i].unit, least_);
    ranked.insert(more.begin(), more.end());
  }
  return among(ranked);
}

// The rooms below each of the units, in the order of `rooms`.
std::map<std::int32_t, std::vector<Choice::Room>> Choice::below(
    const std::vector<Room>& rooms, const std::vector<std::int32_t>& units) const {
  std::map<std::int32_t, std::vector<Room>> found;
  for (const std::int32_t unit : units) found[unit];
  for (const Room& room : rooms) {
    for (std::int32_t at = room.unit; at >= 0; at = domains_.unit(at).parent) {
      const auto above = found.find(at);
      if (above != found.end()) above->second.push_back(room);
    }
  }
  return found;
}

Places Choice::in_fewest(const std::vector<std::int32_t>& units) const {
  const std::vector<Room> rooms = roomiest_first(units);
  const std::int64_t tasks = main_group(spec_).tasks;
  const std::size_t least = fewest(rooms, tasks);
  if (least == 0) return std::nullopt;
  if (least > 1) {
    // Units that are near one another first: as few as possible, and among those the ones that meet
    // lowest in the tree.
    for (const std::vector<std::int32_t>& step : domains_.above(units)) {
      const auto rooms_below = below(rooms, step);
      for (const std::int32_t above : step) {
        const std::vector<Room>& near = rooms_below.at(above);
        // More units than needed would trade fewer hops for wider spread: a union further up is
        // tried before that.
        if (fewest(near, tasks) != least) continue;
        if (Places found = in_first(near, least)) return found;
      }
    }
    if (Places found = in_first(rooms, least)) return found;
  }
  // Rooms may not add up (several groups, a shape that splits badly), so some larger unions are
  // tried, and no more than that: each is a full search.
  const std::size_t most = std::min(rooms.size(), least + kUnions_max);
  for (std::size_t count = least; count <= most; ++count) {
    if (Places found = in_roomiest(rooms, count)) return found;
  }
  return std::nullopt;
}

Domains domains_of(const Candidates& candidates) {
  Domains domains;
  for (const NodeEntry& entry : *candidates.ranked) {
    if (candidates.only != nullptr && !(*candidates.only)[entry.node]) continue;
    const Node& node = (*candidates.nodes)[entry.node];
    domains.put(
        node, entry.rank,
        candidates.views == nullptr ? free_of(node) : free_of((*candidates.views)[entry.node]));
  }
  return domains;
}

// The first of its features that is a wish for all of its nodes together, or their end.
std::size_t wish_for_all(const JobSpec& spec) {
  if (spec.features.empty()) return 0;
  const TaskGroup& group = spec.groups.front();
  const bool is_on_one = spec.groups.size() == 1 && (group.tasks == 1 || group.nodes_max == 1);
  if (is_on_one) return spec.features.size();
  const auto found =
      std::find_if(spec.features.begin(), spec.features.end(),
                   [](const std::string& wish) { return text::is_same_on_all(wish); });
  return static_cast<std::size_t>(found - spec.features.begin());
}

}  // namespace

bool has_wish_for_all(const JobSpec& spec) { return wish_for_all(spec) < spec.features.size(); }

std::vector<JobSpec> with_each_choice(const JobSpec& spec) {
  std::vector<JobSpec> all;
  const std::size_t wish = wish_for_all(spec);
  for (std::string& feature : text::features_of_wish(spec.features[wish])) {
    all.push_back(spec);
    all.back().features[wish] = std::move(feature);
  }
  return all;
}

NodeNeeds needs_of(const JobSpec& spec) {
  NodeNeeds all;
  for (const TaskGroup& group : spec.groups) {
    const NodeNeeds needs = needs_of(group, group.tasks);
    all.gpus_milli += needs.gpus_milli;
    all.cores += needs.cores;
    all.memory_bytes += needs.memory_bytes;
  }
  return all;
}

Places find_places(const Candidates& candidates, const PlacementPolicy& policy, const JobSpec& spec,
                   std::span<const NodeId> avoided) {
  if (has_wish_for_all(spec)) {
    for (const JobSpec& one : with_each_choice(spec)) {
      if (Places found = find_places(candidates, policy, one, avoided)) return found;
    }
    return std::nullopt;
  }
  if (!spec.domain.empty()) {
    const bool node = spec.domain == kNodeLevel;
    const bool make = candidates.domains == nullptr && !node;
    // Nodes are no units of the tree, so their level needs none built.
    const Domains made = make ? domains_of(candidates) : Domains{};
    const Domains& domains = make || node ? made : *candidates.domains;
    const Choice choice(candidates, domains, policy, spec, avoided);
    const auto units = domains.tightest_with(spec.domain, least_of(spec));
    if (Places found = node ? choice.on_one_node() : choice.in_one(units)) return found;
    // Required: to wait is better than to be apart.
    if (spec.domain_required) return std::nullopt;
    if (!node) {
      if (Places found = choice.in_fewest(units)) return found;
    }
  }
  // Preferred, and not possible now: anywhere.
  return find_places_among(*candidates.ranked, candidates, policy, spec, avoided);
}

}  // namespace dove::core
