#include "core/place/score_index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace dove::core {
namespace {

// Few values, so that there are ties, and another one for each device.
class SomeScorer final : public Scorer {
 public:
  explicit SomeScorer(std::int64_t factor) : factor_(factor) {}

  Score score(const FreeState& node, const TaskShape& task) const override {
    const std::int64_t value =
        (factor_ * (node.cpu_milli + node.gpus_milli() + task.cpu_milli)) / 700 % 4;
    return {value, task.is_share() ? tightest_device(node, task) : kAnyDevice};
  }

 private:
  std::int64_t factor_;
};

FreeState some_node(Random& random) {
  NodeClass node_class;
  node_class.model = static_cast<std::int32_t>(random.below(2));
  node_class.cpu_milli = 4000;
  node_class.memory_bytes = 10;
  node_class.devices = static_cast<std::int32_t>(random.below(4));
  return all_free(node_class);
}

TaskShape some_task(Random& random) {
  TaskShape task;
  task.cpu_milli = static_cast<std::int64_t>(random.below(3)) * 500;
  task.memory_bytes = static_cast<std::int64_t>(random.below(2));
  task.devices = static_cast<std::int32_t>(random.below(3));
  if (task.devices > 0) task.device_milli = kWholeDevice_milli;
  if (task.devices == 1 && random.below(2) == 0) task.device_milli = 300;
  if (random.below(4) == 0) task.models = 1;
  return task;
}

// The first of the best of all nodes, looked at one by one.
std::int32_t best_of_all(const std::vector<FreeState>& nodes, const Scorer& scorer,
                         const TaskShape& task) {
  std::int32_t best = -1;
  std::int64_t value = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[i], task)) continue;
    const Score score = scorer.score(nodes[i], task);
    if (best >= 0 && score.value <= value) continue;
    best = static_cast<std::int32_t>(i);
    value = score.value;
  }
  return best;
}

TEST(ScoreIndex, AnswersAsIfAllNodesWereScored) {
  Random random(3);
  const SomeScorer scorers[] = {SomeScorer(1), SomeScorer(3)};
  int chosen = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<FreeState> nodes;
    for (int i = 0; i < 30; ++i) nodes.push_back(some_node(random));
    const std::vector<FreeState> empty = nodes;
    ScoreIndex index(nodes, Ties::kFirst, 1);
    const Scorer* scorer = scorers;
    index.use(scorer);
    for (int step = 0; step < 300; ++step) {
      if (random.below(60) == 0) index.use(scorer = &scorers[random.below(2)]);
      if (random.below(3) == 0) {  // all that runs on a node ends
        const auto at = static_cast<std::size_t>(random.below(nodes.size()));
        nodes[at] = empty[at];
        index.set_state(static_cast<std::int32_t>(at), empty[at]);
      }
      const TaskShape task = some_task(random);
      const auto choice = index.choose(index.shape_id(task));
      const std::int32_t expected = best_of_all(nodes, *scorer, task);
      ASSERT_EQ(choice ? choice->node : -1, expected) << "round " << round << ", step " << step;
      if (!choice) continue;
      ++chosen;
      FreeState& node = nodes[static_cast<std::size_t>(choice->node)];
      allocate(node, task, choice->device);
      index.set_state(choice->node, node);
      ASSERT_EQ(index.state(choice->node), node);
    }
  }
  EXPECT_GT(chosen, 5000);
}

// The best of some nodes, one by one, each full once it was named.
std::vector<std::int32_t> best_one_by_one(std::vector<FreeState> nodes, const Scorer& scorer,
                                          const TaskShape& task, std::size_t most) {
  std::vector<std::int32_t> best;
  while (best.size() < most) {
    const std::int32_t next = best_of_all(nodes, scorer, task);
    if (next < 0) break;
    best.push_back(next);
    nodes[static_cast<std::size_t>(next)].takes_more = false;
  }
  return best;
}

std::vector<std::int32_t> nodes_of(const std::vector<ScoreIndex::Choice>& choices) {
  std::vector<std::int32_t> nodes;
  for (const ScoreIndex::Choice& each : choices) nodes.push_back(each.node);
  return nodes;
}

TEST(ScoreIndex, ManyAreThoseThatAreBestOneByOne) {
  Random random(4);
  const SomeScorer scorer(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<FreeState> nodes;
    for (int i = 0; i < 20; ++i) nodes.push_back(some_node(random));
    ScoreIndex index(nodes, Ties::kFirst, 1);
    index.use(&scorer);
    const TaskShape task = some_task(random);
    const std::size_t most = random.below(21);
    const std::int32_t shape = index.shape_id(task);
    const auto expected = best_one_by_one(nodes, scorer, task, most);
    ASSERT_EQ(nodes_of(index.choose_many(shape, 0, most)), expected) << "round " << round;
    EXPECT_TRUE(
        index.choose_many(shape, best_one_by_one(nodes, scorer, task, 20).size() + 1, 20).empty());
    // All that are not among them are as if they were full.
    std::vector<std::int32_t> among;
    for (std::int32_t node = 19; node >= 0; --node) {
      if (random.below(2) == 0) {
        among.push_back(node);
      } else {
        nodes[static_cast<std::size_t>(node)].takes_more = false;
      }
    }
    ASSERT_EQ(nodes_of(index.choose_among(shape, among, most)),
              best_one_by_one(nodes, scorer, task, most))
        << "round " << round;
  }
}

class NoPreference final : public Scorer {
 public:
  Score score(const FreeState&, const TaskShape&) const override { return {}; }
};

std::vector<FreeState> equal_nodes(std::size_t count) {
  NodeClass node_class;
  node_class.cpu_milli = 1000;
  node_class.devices = 2;
  return std::vector<FreeState>(count, all_free(node_class));
}

TEST(ScoreIndex, NextGoesAround) {
  ScoreIndex index(equal_nodes(3), Ties::kNext, 1);
  const NoPreference scorer;
  index.use(&scorer);
  TaskShape task;
  task.cpu_milli = 1;
  std::vector<std::int32_t> taken;
  for (int i = 0; i < 5; ++i) {
    const auto choice = index.choose(index.shape_id(task));
    ASSERT_TRUE(choice);
    taken.push_back(choice->node);
    FreeState state = index.state(choice->node);
    allocate(state, task, choice->device);
    index.set_state(choice->node, std::move(state));
  }
  EXPECT_EQ(taken, (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
}

TEST(ScoreIndex, ManyGoAroundFromTheCursor) {
  ScoreIndex index(equal_nodes(4), Ties::kNext, 1);
  const NoPreference scorer;
  index.use(&scorer);
  index.set_taken(1);
  TaskShape task;
  task.cpu_milli = 1;
  const std::int32_t shape = index.shape_id(task);
  EXPECT_EQ(nodes_of(index.choose_many(shape, 1, 4)), (std::vector<std::int32_t>{2, 3, 0, 1}));
  EXPECT_EQ(nodes_of(index.choose_many(shape, 1, 3)), (std::vector<std::int32_t>{2, 3, 0}));
  const std::vector<std::int32_t> some = {0, 1, 3};
  EXPECT_EQ(nodes_of(index.choose_among(shape, some, 2)), (std::vector<std::int32_t>{3, 0}));
}

TEST(ScoreIndex, RandomReachesEveryNodeAndDeviceAlike) {
  ScoreIndex index(equal_nodes(5), Ties::kRandom, 9);
  FreeState other = index.state(4);
  other.cpu_milli = 500;  // a group of its own counts for its one node
  index.set_state(4, std::move(other));
  const NoPreference scorer;
  index.use(&scorer);
  TaskShape task;
  task.devices = 1;
  task.device_milli = 100;
  std::map<std::pair<std::int32_t, std::int32_t>, int> times;
  for (int i = 0; i < 10'000; ++i) {
    const auto choice = index.choose(index.shape_id(task));
    ASSERT_TRUE(choice);
    ++times[{choice->node, choice->device}];
  }
  ASSERT_EQ(times.size(), 10u);
  for (const auto& [place, count] : times) EXPECT_NEAR(count, 1000, 150);
}

TEST(Score, TakesTheFirstWholeDevicesAndTheGivenShare) {
  NodeClass node_class;
  node_class.cpu_milli = 4000;
  node_class.devices = 3;
  FreeState node = all_free(node_class);
  TaskShape share;
  share.cpu_milli = 500;
  share.devices = 1;
  share.device_milli = 400;
  allocate(node, share, 1);
  EXPECT_EQ(node.devices_milli, (std::vector<std::int32_t>{1000, 600, 1000}));
  EXPECT_EQ(tightest_device(node, share), 1);
  TaskShape pair;
  pair.devices = 2;
  pair.device_milli = kWholeDevice_milli;
  ASSERT_TRUE(fits(node, pair));
  allocate(node, pair, kAnyDevice);
  EXPECT_EQ(node.devices_milli, (std::vector<std::int32_t>{0, 600, 0}));
  EXPECT_EQ(node.cpu_milli, 3500);
  EXPECT_EQ(node.hosts, kind_of(share) | kind_of(pair));
  EXPECT_FALSE(fits(node, pair));
  share.models = 2;  // not the model of this node
  EXPECT_FALSE(fits(node, share));
}

}  // namespace
}  // namespace dove::core
