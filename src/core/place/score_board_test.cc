#include "core/place/score_board.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/random.h"
#include "core/state/round_robin.h"

namespace dove::core {
namespace {

// Prefers what the mix has most of: its commonest task's devices, then the fullest node.
class SomePolicy final : public ScorePolicy {
 public:
  class SomeScorer final : public Scorer {
   public:
    explicit SomeScorer(std::int64_t seed) : seed_(seed) {}
    Score score(const FreeState& node, const TaskShape& task) const override {
      return {(seed_ * node.gpus_milli() + node.cpu_milli + task.cpu_milli) % 7};
    }

   private:
    std::int64_t seed_;
  };

  explicit SomePolicy(Learns learns = Learns::kTasks) : learns_(learns) {}
  std::string_view name() const override { return "some/1"; }
  Learns learns() const override { return learns_; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry> mix,
                                        std::span<const NodeClass>) const override {
    std::int64_t sum = 1;
    for (const MixEntry& it : mix) sum = 3 * sum + it.count * it.shape.gpus_milli();
    return std::make_unique<SomeScorer>(sum % 1000);
  }

 private:
  Learns learns_;
};

std::shared_ptr<const Inventory> inventory(const std::string& model, int devices) {
  auto made = std::make_shared<Inventory>();
  made->numa.resize(1);
  for (std::int32_t core = 0; core < 16; ++core) made->numa[0].cores.insert(core);
  for (int i = 0; i < devices; ++i) made->devices.push_back({"gpu", "", model, "", 80, 0});
  made->memory_bytes = 1000;
  return made;
}

// The id of any of the nodes.
NodeId some_id(const ById<NodeId, Node>& nodes, Random& random) {
  return NodeId(static_cast<std::uint32_t>(1 + random.below(nodes.size())));
}

Node some_node(std::uint32_t id, Random& random) {
  Node node;
  node.id = NodeId(id);
  node.inventory =
      inventory(fmt::format("m{}", random.below(3)), 1 + static_cast<int>(random.below(4)));
  return node;
}

void fill(Node& node, Random& random) {
  node.cores_free.clear();
  for (std::int32_t core = 0; core < 16; ++core) {
    if (random.below(3) > 0) node.cores_free.insert(core);
  }
  node.device_free_milli.clear();
  for (std::size_t i = 0; i < node.inventory->devices.size(); ++i) {
    node.device_free_milli.push_back(static_cast<std::int32_t>(random.below(3)) * 500);
  }
  node.memory_free_bytes = static_cast<std::int64_t>(random.below(1000));
}

JobSpec some_job(Random& random) {
  JobSpec spec;
  spec.groups.resize(1);
  Request& request = spec.groups[0].per_task;
  request.cores = static_cast<std::int32_t>(1 + random.below(4));
  if (random.below(2) == 0) {
    request.gpus = static_cast<std::int32_t>(1 + random.below(2));
  } else {
    request.share_milli = 500;
  }
  // As sbatch does.
  if (random.below(3) == 0) std::swap(request, spec.groups[0].per_node);
  if (random.below(3) == 0) request.gpu_model = "M1";
  return spec;
}

bool any_node(NodeId) { return true; }

// That knows all nodes.
ScoreBoard board_of(const ScorePolicy* policy, const State& state) {
  ScoreBoard board;
  board.use(policy);
  for (const Node& node : state.nodes) board.touch(node.id);
  return board;
}

// The best node for a job that takes one.
std::optional<ScoreBoard::Choice> choose(ScoreBoard& board, const State& state,
                                         const std::string& pool, const JobSpec& spec,
                                         const std::function<bool(NodeId)>& open = any_node) {
  const auto found = board.choose(state, pool, spec, open, {});
  if (found.empty()) return std::nullopt;
  EXPECT_EQ(found.size(), 1u);
  return found.front();
}

class ScoreBoardOf : public ::testing::TestWithParam<Learns> {};

// What a board knows from before must not matter: one that has seen everything answers as one that
// sees the state for the first time.
TEST_P(ScoreBoardOf, AnswersAreAFunctionOfTheState) {
  const SomePolicy policy(GetParam());
  Random random(5);
  State state;
  for (std::uint32_t id = 1; id <= 12; ++id) {
    state.nodes.push_back(some_node(id, random));
    fill(state.nodes.back(), random);
  }
  ScoreBoard kept;
  kept.use(&policy);
  for (const Node& node : state.nodes) kept.touch(node.id);
  std::vector<JobSpec> live;
  int chosen = 0;
  for (int round = 0; round < 1500; ++round) {
    Node& node = state.nodes[some_id(state.nodes, random)];
    if (random.below(20) == 0) node.inventory = inventory("m9", 2);
    fill(node, random);
    kept.touch(node.id);
    if (live.size() > 20 && random.below(2) == 0) {
      kept.remove(live.back());
      live.pop_back();
    }
    live.push_back(some_job(random));
    kept.add(live.back());
    const auto even = [](NodeId id) { return id.value % 2 == 0; };
    ScoreBoard fresh;
    fresh.use(&policy);
    for (const Node& each : state.nodes) fresh.touch(each.id);
    for (const JobSpec& spec : live) fresh.add(spec);
    const auto found = choose(kept, state, "all", live.back());
    ASSERT_EQ(found, choose(fresh, state, "all", live.back())) << "round " << round;
    ASSERT_EQ(choose(kept, state, "even", live.back(), even),
              choose(fresh, state, "even", live.back(), even));
    if (found) ++chosen;
  }
  EXPECT_GT(chosen, 500);
}

INSTANTIATE_TEST_SUITE_P(Mix, ScoreBoardOf, ::testing::Values(Learns::kSizes, Learns::kTasks));

class Remembers final : public ScorePolicy {
 public:
  std::string_view name() const override { return "remembers/1"; }
  Learns learns() const override { return Learns::kSizes; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry> mix,
                                        std::span<const NodeClass>) const override {
    seen.assign(mix.begin(), mix.end());
    return nullptr;
  }
  mutable std::vector<MixEntry> seen;
};

// Counts are rounded down to powers of two: apart, 3 + 3 + 10 would be 2 + 2 + 8.
TEST(ScoreBoard, ThoseThatNameAModelCountInFullWhereModelsDoNot) {
  const Remembers policy;
  ScoreBoard board;
  board.use(&policy);
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.gpus = 1;
  for (int i = 0; i < 16; ++i) {
    spec.groups[0].per_task.gpu_model = i < 3 ? "m0" : i < 6 ? "m1" : "";
    board.add(spec);
  }
  EXPECT_FALSE(choose(board, State{}, "all", spec));
  ASSERT_EQ(policy.seen.size(), 1u);
  EXPECT_EQ(policy.seen[0].count, 16);
  EXPECT_EQ(policy.seen[0].shape.models, kAnyModel);
}

// sbatch -N 4 --gpus-per-node=8, and --ntasks=8 --gpus-per-task=1 -N 1: both take whole nodes.
TEST(ScoreBoard, TheMixCountsWhatIsTakenOfEachNode) {
  const Remembers policy;
  ScoreBoard board;
  board.use(&policy);
  JobSpec gang;
  gang.groups.resize(1);
  gang.groups[0].tasks = gang.groups[0].nodes_min = gang.groups[0].nodes_max = 4;
  gang.groups[0].per_task.cores = 64;
  gang.groups[0].per_node.gpus = 8;
  JobSpec one;
  one.groups.resize(1);
  one.groups[0].tasks = 8;
  one.groups[0].nodes_min = one.groups[0].nodes_max = 1;
  one.groups[0].per_task.cores = 8;
  one.groups[0].per_task.gpus = 1;
  for (const JobSpec& spec : {gang, gang, one}) board.add(spec);
  EXPECT_FALSE(choose(board, State{}, "all", one));
  ASSERT_EQ(policy.seen.size(), 1u);
  EXPECT_EQ(policy.seen[0].count, 8) << "nine, rounded down";
  EXPECT_EQ(policy.seen[0].shape.devices, 8);
  EXPECT_EQ(policy.seen[0].shape.cpu_milli, 64'000);
  board.remove(one);
  board.remove(gang);
  EXPECT_FALSE(choose(board, State{}, "all", one));
  EXPECT_EQ(policy.seen[0].count, 4);
}

// Cores are kept for those that need devices beside them.
TEST(ScoreBoard, TasksWithoutDevicesAreScoredByPoliciesThatLearn) {
  const SomePolicy policy;
  Random random(9);
  State state;
  for (std::uint32_t id = 1; id <= 2; ++id) {
    state.nodes.push_back(some_node(id, random));
    Node& node = state.nodes.back();
    node.inventory = inventory("m", id == 1 ? 2 : 0);
    node.cores_free = {0, 1, 2, 3};
    node.device_free_milli.assign(node.inventory->devices.size(), 0);
    node.memory_free_bytes = 1000;
  }
  ScoreBoard board = board_of(&policy, state);
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.cores = 1;
  const auto found = choose(board, state, "all", spec);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, NodeId{2});
}

// Whole GPUs with cores enough: such a mix needs no scores.
class NothingToGain final : public ScorePolicy {
 public:
  std::string_view name() const override { return "nothing_to_gain/1"; }
  Learns learns() const override { return Learns::kSizes; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry>,
                                        std::span<const NodeClass>) const override {
    return nullptr;
  }
};

// The first node has a GPU that is cut and one that is idle, the second only an idle one.
State node_with_a_cut_device() {
  State state;
  for (std::uint32_t id = 1; id <= 2; ++id) {
    Node node;
    node.id = NodeId(id);
    node.inventory = inventory("H100", id == 1 ? 2 : 1);
    node.cores_free = {0, 1, 2, 3, 4, 5, 6, 7};
    node.device_free_milli.assign(node.inventory->devices.size(), 1000);
    node.memory_free_bytes = 1000;
    if (id == 1) {
      node.device_free_milli[0] = 750;
      node.slots_taken = {0b11, 0};
    }
    state.nodes.push_back(std::move(node));
  }
  return state;
}

TEST(ScoreBoard, SlicesGoToDevicesThatAreCutWhateverThePolicyGains) {
  const SomePolicy some;
  const NothingToGain nothing;
  const State state = node_with_a_cut_device();
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.cores = 1;
  spec.groups[0].per_task.slice = "2g.20gb";
  spec.groups[0].per_task.slices = 1;
  JobSpec whole;
  whole.groups.resize(1);
  whole.groups[0].per_task.gpus = 1;
  for (const ScorePolicy* policy :
       {static_cast<const ScorePolicy*>(&some), static_cast<const ScorePolicy*>(&nothing)}) {
    ScoreBoard board = board_of(policy, state);
    board.add(spec);
    board.add(whole);
    choose(board, state, "all", whole);
    const auto found = choose(board, state, "all", spec);
    ASSERT_TRUE(found) << policy->name();
    EXPECT_EQ(found->node, NodeId(1)) << "best_fit prefers the other, which has least free";
    spec.groups[0].per_task.slices = 4;
    EXPECT_EQ(choose(board, state, "all", spec)->node, NodeId(1)) << "and two devices";
    spec.groups[0].per_task.slices = 7;
    EXPECT_FALSE(choose(board, state, "all", spec));
    spec.groups[0].per_task.slices = 1;
    std::swap(spec.groups[0].per_task, spec.groups[0].per_node);
    EXPECT_EQ(choose(board, state, "all", spec), found) << "as sbatch asks";
    std::swap(spec.groups[0].per_task, spec.groups[0].per_node);
  }
}

// What is free of a device that is cut is for slices alone.
TEST(ScoreBoard, CutDevicesAreClosedToWholeAndSharedUse) {
  const SomePolicy policy;
  State state = node_with_a_cut_device();
  state.nodes[NodeId(1)].device_free_milli[1] = 0;
  state.nodes[NodeId(2)].device_free_milli[0] = 0;
  ScoreBoard board = board_of(&policy, state);
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.share_milli = 500;
  board.add(spec);
  EXPECT_FALSE(choose(board, state, "all", spec));
}

class RoundRobin final : public ScorePolicy {
 public:
  class Level final : public Scorer {
   public:
    Score score(const FreeState&, const TaskShape&) const override { return {0}; }
  };

  std::string_view name() const override { return "round-robin/1"; }
  Ties ties() const override { return Ties::kNext; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry>,
                                        std::span<const NodeClass>) const override {
    return std::make_unique<Level>();
  }
};

// Each has 2 devices, but the second, which has 1.
State four_nodes() {
  Random random(7);
  State state;
  for (std::uint32_t id = 1; id <= 4; ++id) {
    state.nodes.push_back(some_node(id, random));
    Node& node = state.nodes.back();
    node.inventory = inventory("m", id == 2 ? 1 : 2);
    node.cores_free = {0, 1, 2, 3, 4, 5, 6, 7};
    node.device_free_milli.assign(node.inventory->devices.size(), 1000);
    node.memory_free_bytes = 1000;
  }
  return state;
}

TEST(ScoreBoard, TheCursorOfTheStateIsFollowed) {
  const RoundRobin policy;
  State state = four_nodes();
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.gpus = 1;
  const auto next = [&](const std::string& pool, std::uint32_t away = 0) {
    ScoreBoard board = board_of(&policy, state);
    board.add(spec);
    const auto open = [away](NodeId id) { return id.value != away; };
    const auto found = choose(board, state, pool, spec, open);
    EXPECT_EQ(found, choose(board, state, pool, spec, open)) << "asking moves no cursor";
    return found ? found->node : NodeId{};
  };
  EXPECT_EQ(next("a"), NodeId{2}) << "nodes with fewer devices come first";
  for (const auto& [last, then] : {std::pair{2u, 1u}, {1u, 3u}, {3u, 4u}, {4u, 2u}}) {
    state.round_robin["a"] = NodeId{last};
    EXPECT_EQ(next("a"), NodeId{then}) << "after " << last;
  }
  state.round_robin["a"] = NodeId{3};
  EXPECT_EQ(next("b"), NodeId{2}) << "each pool has its own cursor";
  EXPECT_EQ(next("a", 4), NodeId{2}) << "who is not there is passed over";
  EXPECT_EQ(next("a", 3), NodeId{4}) << "though it was the last";
}

// Prefers the node with the most free.
class MostFree final : public ScorePolicy {
 public:
  class Most final : public Scorer {
   public:
    Score score(const FreeState& node, const TaskShape&) const override {
      return {node.gpus_milli()};
    }
  };
  std::string_view name() const override { return "most_free/1"; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry>,
                                        std::span<const NodeClass>) const override {
    return std::make_unique<Most>();
  }
};

TEST(ScoreBoard, AGangGetsAsManyNodesAsItTakesBestFirst) {
  const MostFree policy;
  const State state = four_nodes();
  ScoreBoard board = board_of(&policy, state);
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].tasks = spec.groups[0].nodes_min = spec.groups[0].nodes_max = 2;
  spec.groups[0].per_node.gpus = 1;
  const auto nodes = [&](const ScoreBoard::Wanted& wanted) {
    std::vector<std::uint32_t> found;
    for (const auto& each : board.choose(state, "all", spec, any_node, wanted)) {
      found.push_back(each.node.value);
    }
    return found;
  };
  using Nodes = std::vector<std::uint32_t>;
  EXPECT_EQ(nodes({}), (Nodes{1, 3}));
  EXPECT_EQ(nodes({.spare = 9}), (Nodes{1, 3, 4, 2}));
  const std::vector<NodeId> unit = {NodeId(2), NodeId(4)};
  EXPECT_EQ(nodes({.among = &unit}), (Nodes{4, 2}));
  spec.groups[0].tasks = 8;
  spec.groups[0].per_task.gpus = 1;
  spec.groups[0].per_node.gpus = 0;
  EXPECT_EQ(nodes({}), Nodes{}) << "none has four";
  spec.groups[0].tasks = 6;
  spec.groups[0].nodes_min = spec.groups[0].nodes_max = 3;
  EXPECT_EQ(nodes({}), (Nodes{1, 3, 4}));
  spec.groups[0].tasks = 8;
  spec.groups[0].nodes_min = spec.groups[0].nodes_max = 4;
  EXPECT_EQ(nodes({}), Nodes{}) << "three have two";
}

TEST(ScoreBoard, TasksThatMayBeSplitAndSharesAreScoredForOneNode) {
  const MostFree policy;
  const State state = four_nodes();
  ScoreBoard board = board_of(&policy, state);
  JobSpec spec;
  spec.groups.resize(1);
  TaskGroup& group = spec.groups[0];
  group.per_task.gpus = 1;
  group.tasks = 2;
  EXPECT_EQ(choose(board, state, "all", spec)->node, NodeId(1));
  group.tasks = 3;
  EXPECT_FALSE(choose(board, state, "all", spec)) << "none has three: the search splits them";
  group.per_task.gpus = 0;
  group.per_task.share_milli = 500;
  EXPECT_NE(choose(board, state, "all", spec)->device, kAnyDevice);
  group.per_task.share_milli = 600;
  EXPECT_FALSE(choose(board, state, "all", spec)) << "rests of two GPUs are no share";
}

TEST(ScoreBoard, RoundRobinIsKnownByItsNameOnly) {
  for (const char* name : {"round_robin", "round-robin", "round-robin/1"}) {
    ClusterSettings settings;
    settings.placement = name;
    EXPECT_TRUE(is_round_robin(settings)) << name;
  }
  for (const char* name : {"best_fit", "round", "round_robin2", ""}) {
    ClusterSettings settings;
    settings.placement = name;
    EXPECT_FALSE(is_round_robin(settings)) << name;
  }
}

TEST(ScoreBoard, LeavesOtherKindsOfJobsToTheSearch) {
  const SomePolicy policy;
  Random random(6);
  State state;
  state.nodes.push_back(some_node(1, random));
  Node& node = state.nodes.front();
  node.cores_free = {0, 1, 2, 3, 4, 5, 6, 7};
  node.device_free_milli.assign(node.inventory->devices.size(), 1000);
  node.memory_free_bytes = 1000;
  ScoreBoard board;
  board.use(&policy);
  board.touch(node.id);
  JobSpec spec;
  spec.groups.resize(1);
  spec.groups[0].per_task.cores = 1;
  board.add(spec);
  spec.groups[0].per_task.gpus = 1;
  const auto found = choose(board, state, "all", spec);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, node.id);
  JobSpec sbatch = spec;
  std::swap(sbatch.groups[0].per_task.gpus, sbatch.groups[0].per_node.gpus);
  sbatch.groups[0].per_node.memory_bytes = 100;
  EXPECT_EQ(choose(board, state, "all", sbatch), found) << "--gres=gpu:1 --mem=100";
  sbatch.groups[0].per_node.memory_bytes = 1001;
  EXPECT_FALSE(choose(board, state, "all", sbatch)) << "more than there is";
  JobSpec gang = spec;
  gang.groups[0].tasks = 2;
  gang.groups[0].per_node.share_milli = 500;
  EXPECT_FALSE(choose(board, state, "all", gang)) << "whole devices, and a share besides";
  JobSpec featured = spec;
  featured.features = {"ib"};
  EXPECT_EQ(choose(board, state, "all", featured), found) << "who asks knows which nodes have it";
  board.touch(node.id);
  EXPECT_FALSE(choose(board, state, "all", spec, [](NodeId) { return false; })) << "not available";
}

}  // namespace
}  // namespace dove::core
