#include "policies/placement/score_policies.h"

#include <gtest/gtest.h>

#include <set>

#include "core/place/score_board.h"
#include "core/state/round_robin.h"
#include "policies/standard.h"

namespace dove::policies {
namespace {

core::FreeState node_with(std::vector<std::int32_t> devices_milli, std::int64_t cpu_milli) {
  core::FreeState node =
      core::all_free({0, 96'000, 0, static_cast<std::int32_t>(devices_milli.size())});
  node.devices_milli = std::move(devices_milli);
  node.cpu_milli = cpu_milli;
  return node;
}

const core::TaskShape kShare{8000, 0, 1, 500, core::kAnyModel};
const core::TaskShape kPair{8000, 0, 2, 1000, core::kAnyModel};
const core::TaskShape kCpu{8000, 0, 0, 0, core::kAnyModel};

core::Score score(std::string_view name, const core::FreeState& node, const core::TaskShape& task) {
  const std::vector<core::MixEntry> mix = {{task, 1}};
  const std::vector<core::NodeClass> classes = {node.node_class};
  return find_score_policy(name)->prepare(mix, classes)->score(node, task);
}

TEST(ScorePolicies, AreKnownByNameOnce) {
  std::set<std::string_view> names;
  std::set<std::string_view> versions;
  for (const NamedScorePolicy& it : score_policies()) {
    EXPECT_TRUE(names.insert(it.name).second);
    EXPECT_TRUE(versions.insert(it.policy->name()).second);
    EXPECT_EQ(find_score_policy(it.name), it.policy);
  }
  EXPECT_EQ(find_score_policy("worst"), nullptr);
}

// 100 * (1 - (48 * 8 / 128^2 + 3000 * 2000 / 8000^2) / 2) = 94.1
TEST(ScorePolicies, DotProductMultipliesFreeAndAsked) {
  EXPECT_EQ(score("dot-product", node_with({1000, 1000, 1000}, 48'000), kPair).value, 94);
}

TEST(ScorePolicies, PackingPrefersSharedDevicesThenNodesInUse) {
  const auto of = [](std::vector<std::int32_t> devices, const core::TaskShape& task) {
    return score("packing", node_with(std::move(devices), 48'000), task).value;
  };
  EXPECT_EQ(of({1000, 640, 0}, kShare), 94);
  EXPECT_EQ(of({1000, 300, 0}, kShare), 49);
  EXPECT_EQ(of({1000, 1000, 0}, kPair), 48);
  EXPECT_EQ(of({1000, 1000}, kPair), 31);
  EXPECT_EQ(of({1000, 1000}, kCpu), 0);
  EXPECT_EQ(score("packing", node_with({1000, 640, 510}, 48'000), kShare).device, 2);
}

TEST(ScorePolicies, ClusteringPrefersItsKind) {
  core::FreeState node = node_with({1000, 1000, 0, 0}, 48'000);  // fullness 25 * 6000 / 8000
  EXPECT_EQ(score("clustering", node, kShare).value, 25 + 18);
  node.hosts = core::kind_of(kPair);
  EXPECT_EQ(score("clustering", node, kShare).value, 18);
  EXPECT_EQ(score("clustering", node, kPair).value, 75 + 18);
  node.hosts |= core::kind_of(kShare);
  EXPECT_EQ(score("clustering", node, kPair).value, 50 + 18);
}

TEST(ScorePolicies, WorstFitPrefersTheEmptiest) {
  const core::Score roomy = score("worst-fit", node_with({600, 1000, 700}, 8000), kShare);
  EXPECT_GT(roomy.value, score("worst-fit", node_with({1000, 1000}, 96'000), kShare).value);
  EXPECT_EQ(roomy.device, 1);
}

TEST(ScorePolicies, SpreadPrefersTheLeastUsedPart) {
  const core::Score half = score("spread", node_with({0, 1000, 1000, 0}, 8000), kShare);
  EXPECT_LT(half.value, score("spread", node_with({700, 600}, 8000), kShare).value);
  EXPECT_EQ(half.device, 1);
  EXPECT_LT(score("spread", node_with({1000}, 20'000), kCpu).value,
            score("spread", node_with({0}, 21'000), kCpu).value);
}

TEST(ScorePolicies, RoundRobinLeavesItToTies) {
  EXPECT_EQ(find_score_policy("round-robin")->ties(), core::Ties::kNext);
  EXPECT_EQ(score("round-robin", node_with({1000}, 9000), kShare).value,
            score("round-robin", node_with({500, 0}, 8000), kShare).value);
}

// What all jobs are placed by needs no scores, which cost time.
TEST(LiveScores, TheUsualPlacementIsNotOneOfThem) {
  const core::Policies& standard = standard_policies();
  EXPECT_EQ(core::find_score(standard, ClusterSettings{}.placement), nullptr);
  EXPECT_EQ(core::find_score(standard, "best-fit"), nullptr);
  EXPECT_EQ(core::find_score(standard, "worst_fit"), find_score_policy("worst-fit"));
  EXPECT_EQ(core::find_score(standard, "round_robin"), find_score_policy("round-robin"));
  EXPECT_EQ(core::find_score(standard, "random"), nullptr);
}

// The core keeps cursors by the name in the settings: it must know each policy that uses them.
TEST(LiveScores, CursorsAreKeptForThoseThatUseThem) {
  for (const core::ScorePolicy* each : standard_policies().scores) {
    ClusterSettings settings;
    settings.placement = each->name();
    EXPECT_EQ(core::is_round_robin(settings), each->ties() == core::Ties::kNext) << each->name();
  }
}

}  // namespace
}  // namespace dove::policies
