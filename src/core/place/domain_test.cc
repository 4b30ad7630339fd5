// Gangs in the topology against brute force over all choices of units, on small random trees.
#include "core/place/domain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/random.h"
#include "core/place/place.h"

namespace dove::core {
namespace {

// Prefers what is fullest, by the first devices.
class FullestFirst final : public PlacementPolicy {
 public:
  std::string_view name() const override { return "fullest_first/1"; }
  NodeRank rank(const NodeFree& free) const override {
    return {free.gpus_milli, free.cores, free.memory_bytes};
  }
  NodeRank skip(const NodeRank& from, const NodeNeeds&) const override { return from; }
  DeviceIds whole_devices(const DeviceChoice& choice) const override {
    DeviceIds chosen;
    for (const DeviceOffer& offer : choice.offers.first(static_cast<std::size_t>(choice.count))) {
      chosen.push_back(offer.device);
    }
    return chosen;
  }
  std::int32_t share_device(const DeviceChoice& choice) const override {
    return choice.offers.front().device;
  }
};

struct Cluster {
  ById<NodeId, Node> nodes;
  IdMap<JobId, Job> jobs;
  RankedNodes ranked;
  Domains domains;

  Candidates candidates() const {
    Candidates all;
    all.ranked = &ranked;
    all.nodes = &nodes;
    all.domains = &domains;
    all.jobs = &jobs;
    return all;
  }
};

const FullestFirst kPolicy;
constexpr std::int32_t kDevices = 4;

// The id of any of the nodes.
NodeId some_id(const ById<NodeId, Node>& nodes, Random& random) {
  return NodeId(static_cast<std::uint32_t>(1 + random.below(nodes.size())));
}

// Up to nine nodes in racks under switches; some say no rack, some nothing.
Cluster some_cluster(Random& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.below(n)); };
  Cluster cluster;
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < 8; ++core) inventory->numa[0].cores.insert(core);
  for (int i = 0; i < kDevices; ++i) inventory->devices.push_back({"gpu", "", "a", "", 1, 0});
  const std::int32_t count = 3 + below(7);
  for (std::int32_t i = 0; i < count; ++i) {
    Node node;
    node.id = NodeId(static_cast<std::uint32_t>(i + 1));
    node.inventory = inventory;
    for (std::int32_t core = below(4); core < 8; ++core) node.cores_free.insert(core);
    node.device_free_milli.assign(kDevices, 0);
    const std::int32_t free = below(kDevices + 1);
    for (std::int32_t k = 0; k < free; ++k) {
      node.device_free_milli[static_cast<std::size_t>(k)] = kWholeDevice_milli;
    }
    if (below(8) > 0) {
      node.declared.topology.push_back(
          {"switch", std::string(1, static_cast<char>('a' + below(2)))});
      if (below(8) > 0) {
        node.declared.topology.push_back(
            {"rack", std::string(1, static_cast<char>('1' + below(3)))});
      }
    }
    const NodeFree sum = free_of(node);
    cluster.ranked.insert({kPolicy.rank(sum), node.id});
    cluster.domains.put(node, kPolicy.rank(sum), sum);
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

JobSpec some_gang(Random& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.below(n)); };
  JobSpec spec;
  spec.user = "ann";
  spec.groups.resize(1);
  spec.groups[0].tasks = 1 + below(14);
  spec.groups[0].per_task.gpus = 1 + below(2);
  spec.domain = below(3) == 0 ? "switch" : "rack";
  spec.domain_required = below(2) == 0;
  spec.spread = static_cast<Spread>(below(3));
  return spec;
}

std::string path_of(const Node& node, const std::string& level) {
  std::string path;
  for (const TopologyUnit& unit : node.declared.topology) {
    path += unit.name;
    if (unit.level == level) return path;
  }
  return "";
}

struct Unit {
  std::string path;
  std::int32_t room = 0;  // tasks
  std::tuple<std::int64_t, std::int64_t, std::int64_t> free = {0, 0, 0};
};

// The units of the job's level, by path.
std::vector<Unit> units_of(const Cluster& cluster, const JobSpec& spec) {
  std::map<std::string, Unit> units;
  for (const Node& node : cluster.nodes) {
    const std::string path = path_of(node, spec.domain);
    if (path.empty()) continue;
    Unit& unit = units[path];
    unit.path = path;
    unit.room += capacity(view_of(node), spec.groups[0], kPolicy, spec.groups[0].tasks);
    const NodeFree free = free_of(node);
    std::get<0>(unit.free) += free.gpus_milli;
    std::get<1>(unit.free) += free.cores;
    std::get<2>(unit.free) += free.memory_bytes;
  }
  std::vector<Unit> list;
  for (auto& [path, unit] : units) list.push_back(std::move(unit));
  return list;
}

std::int32_t room_of_all(const Cluster& cluster, const JobSpec& spec) {
  std::int32_t room = 0;
  for (const Node& node : cluster.nodes) {
    room += capacity(view_of(node), spec.groups[0], kPolicy, spec.groups[0].tasks);
  }
  return room;
}

// The fewest units that hold the gang together, and whether this number suffices below one switch.
struct Fewest {
  int units = std::numeric_limits<int>::max();
  bool below_one = false;
};

Fewest fewest_units(const std::vector<Unit>& units, std::int32_t tasks) {
  Fewest best;
  for (unsigned choice = 1; choice < 1U << units.size(); ++choice) {
    std::int32_t room = 0;
    std::set<char> switches;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if ((choice >> i & 1U) == 0) continue;
      room += units[i].room;
      switches.insert(units[i].path.front());
    }
    if (room < tasks) continue;
    const int count = __builtin_popcount(choice);
    const bool below_one = switches.size() == 1;
    if (count < best.units) best = {count, below_one};
    if (count == best.units) best.below_one = best.below_one || below_one;
  }
  return best;
}

void expect_ranks_along_the_tree(const Cluster& cluster, const std::vector<Placement>& places) {
  Rank rank = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].node_rank, static_cast<std::int32_t>(i));
    for (const TaskGrant& task : places[i].tasks) EXPECT_EQ(task.rank, rank++);
    if (i == 0) continue;
    EXPECT_TRUE(before_in_tree(cluster.nodes[places[i - 1].node], cluster.nodes[places[i].node]));
  }
}

TEST(Domain, TheChosenUnitsAreTheBestByTheStatedOrder) {
  Random random(11);
  int in_one = 0, in_several = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    SCOPED_TRACE(round);
    const Cluster cluster = some_cluster(random);
    const JobSpec spec = some_gang(random);
    const std::int32_t tasks = spec.groups[0].tasks;
    const std::vector<Unit> units = units_of(cluster, spec);
    const Unit* tightest = nullptr;
    for (const Unit& unit : units) {
      const bool better = tightest == nullptr ||
                          std::tie(unit.free, unit.path) < std::tie(tightest->free, tightest->path);
      if (unit.room >= tasks && better) tightest = &unit;
    }
    const auto found = find_places(cluster.candidates(), kPolicy, spec, {});
    std::set<std::string> used;
    std::set<char> switches;
    if (found) {
      for (const Placement& place : *found) {
        used.insert(path_of(cluster.nodes[place.node], spec.domain));
        switches.insert(used.rbegin()->empty() ? '-' : used.rbegin()->front());
      }
      expect_ranks_along_the_tree(cluster, *found);
    }
    if (tightest != nullptr) {
      ASSERT_TRUE(found);
      EXPECT_EQ(used, std::set{tightest->path});
      ++in_one;
      continue;
    }
    ASSERT_EQ(found.has_value(), !spec.domain_required && room_of_all(cluster, spec) >= tasks);
    if (!found) {
      ++refused;
      continue;
    }
    const Fewest best = fewest_units(units, tasks);
    if (best.units > static_cast<int>(units.size())) continue;  // nodes of no unit are needed
    EXPECT_EQ(static_cast<int>(used.size()), best.units);
    EXPECT_FALSE(used.contains(""));
    if (spec.domain == "rack" && best.below_one) {
      EXPECT_EQ(used.begin()->front(), used.rbegin()->front());
    }
    ++in_several;
  }
  EXPECT_GT(in_one, 1000);
  EXPECT_GT(in_several, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Domain, ANodeThatIsDeclaredElsewhereMoves) {
  Node node;
  node.id = NodeId(1);
  node.declared.topology = {{"rack", "r1"}};
  const NodeFree free{1000, 8, 64};
  Domains domains;
  domains.put(node, {}, free);
  node.declared.topology = {{"rack", "r2"}};
  domains.put(node, {}, free);
  ASSERT_EQ(domains.tightest_first("rack").size(), 1u);
  const Domains::Unit& rack = domains.unit(domains.tightest_first("rack")[0]);
  EXPECT_EQ(rack.path, "r2");
  EXPECT_EQ(rack.free.cores, free.cores);
  node.declared.topology.clear();
  domains.put(node, {}, free);
  EXPECT_TRUE(domains.tightest_first("rack").empty());
}

TEST(Domain, SumsFollowWhateverNodesDo) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    Cluster cluster = some_cluster(random);
    for (int step = 0; step < 20; ++step) {
      Node& node = cluster.nodes[some_id(cluster.nodes, random)];
      const NodeFree before = free_of(node);
      const auto entry = std::find_if(cluster.ranked.begin(), cluster.ranked.end(),
                                      [&](const NodeEntry& e) { return e.node == node.id; });
      if (entry != cluster.ranked.end()) cluster.ranked.erase(*entry);
      if (random.below(3) == 0) {
        cluster.domains.drop(node.id);
        continue;
      }
      node.device_free_milli[random.below(kDevices)] =
          static_cast<std::int32_t>(random.below(1001));
      const NodeFree now = free_of(node);
      // A policy may rank both alike: the sums must follow nevertheless.
      const NodeRank rank = kPolicy.rank(random.below(2) == 0 ? now : before);
      cluster.ranked.insert({rank, node.id});
      cluster.domains.put(node, rank, now);
    }
    Domains anew;
    for (const NodeEntry& entry : cluster.ranked) {
      const Node& node = cluster.nodes[entry.node];
      anew.put(node, entry.rank, free_of(node));
    }
    for (const char* level : {"switch", "rack"}) {
      const auto kept = cluster.domains.tightest_first(level);
      const auto made = anew.tightest_first(level);
      ASSERT_EQ(kept.size(), made.size());
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const Domains::Unit& a = cluster.domains.unit(kept[i]);
        const Domains::Unit& b = anew.unit(made[i]);
        EXPECT_EQ(a.path, b.path);
        EXPECT_EQ(a.nodes, b.nodes);
        EXPECT_EQ(cluster.domains.ranked(kept[i], {}), anew.ranked(made[i], {}));
        EXPECT_EQ(a.free.gpus_milli, b.free.gpus_milli);
        EXPECT_EQ(a.free.cores, b.free.cores);
      }
    }
  }
}

Job labelled(Random& random, JobId id) {
  const std::vector<std::string> labels = {"", "x", "y"};
  auto spec = std::make_shared<JobSpec>();
  spec->user = random.below(4) == 0 ? "bob" : "ann";
  spec->label = labels[random.below(3)];
  if (random.below(3) == 0) spec->apart_labels = {labels[1 + random.below(2)]};
  Job job;
  job.id = id;
  job.spec = spec;
  return job;
}

bool allowed(const Cluster& cluster, const JobSpec& spec, const Node& node) {
  bool near = spec.near_labels.empty();
  for (JobId id : node.jobs) {
    const JobSpec& other = *cluster.jobs.at(id).spec;
    if (other.user != spec.user) continue;
    for (const std::string& label : spec.apart_labels) {
      if (!other.label.empty() && label == other.label) return false;
    }
    for (const std::string& label : other.apart_labels) {
      if (!spec.label.empty() && label == spec.label) return false;
    }
    for (const std::string& label : spec.near_labels) near = near || label == other.label;
  }
  return near;
}

TEST(Domain, LabelsAreKeptAndOnlyThey) {
  Random random(23);
  int found_count = 0, none_count = 0;
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(round);
    Cluster cluster = some_cluster(random);
    for (std::uint64_t id = 1; id <= 6; ++id) {
      cluster.jobs[JobId(id)] = labelled(random, JobId(id));
      cluster.nodes[some_id(cluster.nodes, random)].jobs.push_back(JobId(id));
    }
    JobSpec spec = some_gang(random);
    spec.domain.clear();
    spec.groups[0].tasks = 1 + static_cast<std::int32_t>(random.below(4));
    if (random.below(2) == 0) spec.label = "x";
    if (random.below(2) == 0) spec.apart_labels = {"y"};
    if (random.below(4) == 0) spec.near_labels = {"x"};
    std::int32_t room = 0;
    for (const Node& node : cluster.nodes) {
      if (!allowed(cluster, spec, node)) continue;
      room += capacity(view_of(node), spec.groups[0], kPolicy, spec.groups[0].tasks);
    }
    const auto found = find_places(cluster.candidates(), kPolicy, spec, {});
    ASSERT_EQ(found.has_value(), room >= spec.groups[0].tasks);
    ++(found ? found_count : none_count);
    if (!found) continue;
    for (const Placement& place : *found) {
      EXPECT_TRUE(allowed(cluster, spec, cluster.nodes[place.node]));
    }
  }
  EXPECT_GT(found_count, 1000);
  EXPECT_GT(none_count, 500);
}

TEST(Domain, OneNodeIsAUnitToo) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const Cluster cluster = some_cluster(random);
    JobSpec spec = some_gang(random);
    spec.domain = std::string(kNodeLevel);
    spec.domain_required = true;
    spec.spread = Spread::kAny;
    const bool fits = std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const Node& n) {
      return capacity(view_of(n), spec.groups[0], kPolicy, 100) >= spec.groups[0].tasks;
    });
    const auto found = find_places(cluster.candidates(), kPolicy, spec, {});
    ASSERT_EQ(found.has_value(), fits);
    if (found) {
      EXPECT_EQ(found->size(), 1U);
    }
  }
}

// A group that takes the only place of a harder one is placed after it.
TEST(Domain, TheHardestGroupIsPlacedFirstWhenThatHelps) {
  Cluster cluster;
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < 2; ++core) inventory->numa[0].cores.insert(core);
  for (std::uint32_t i = 1; i <= 2; ++i) {
    Node node;
    node.id = NodeId(i);
    auto own = std::make_shared<Inventory>(*inventory);
    if (i == 1) own->devices.push_back({"gpu", "", "a", "", 1, 0});
    node.inventory = own;
    node.device_free_milli.assign(own->devices.size(), kWholeDevice_milli);
    node.cores_free = {0, 1};
    // The node with the GPU looks fuller, and is tried first.
    cluster.ranked.insert({{i, 0, 0}, node.id});
    cluster.nodes.push_back(std::move(node));
  }
  JobSpec spec;
  spec.groups.resize(2);
  spec.groups[0].per_task.cores = 2;
  spec.groups[1].per_task.gpus = 1;
  spec.groups[1].per_task.cores = 2;
  Candidates candidates = cluster.candidates();
  const auto found = find_places(candidates, kPolicy, spec, {});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at(0).node, NodeId(2));
  EXPECT_EQ(found->at(0).tasks[0].rank, 0U);
  EXPECT_EQ(found->at(1).node, NodeId(1));
  EXPECT_EQ(found->at(1).tasks[0].group, 1);
}

TEST(Domains, AUnitIsFoundByANodeAndItsLevel) {
  State state;
  Domains domains;
  for (std::uint32_t id = 1; id <= 2; ++id) {
    Node node;
    node.id = NodeId(id);
    if (id == 1) node.declared.topology = {{"block", "b"}, {"rack", "r"}};
    domains.put(node, {}, {});
  }
  EXPECT_EQ(domains.unit(domains.unit_with(NodeId(1), "rack")).path, "b/r");
  EXPECT_EQ(domains.unit(domains.unit_with(NodeId(1), "block")).path, "b");
  EXPECT_EQ(domains.unit_with(NodeId(1), "switch"), -1);
  EXPECT_EQ(domains.unit_with(NodeId(2), "rack"), -1);
  EXPECT_EQ(domains.unit_with(NodeId(3), "rack"), -1);
  EXPECT_TRUE(domains.has_level("rack"));
  EXPECT_FALSE(domains.has_level("switch"));
}

}  // namespace
}  // namespace dove::core
