#include "core/admit/declared_warnings.h"

#include <gtest/gtest.h>

#include "core/place/score_board.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class SumOfAll final : public OrderPolicy {
 public:
  std::string_view name() const override { return "sum/1"; }
  std::int64_t rank(const State&, const Job&) const override { return 0; }
  Basis basis() const override { return Basis::kRank; }
};

TEST(DeclaredWarnings, WeightsThatNoOrderAddsUp) {
  static const SumOfAll sum;
  Policies policies = plain_policies();
  policies.orders.push_back(&sum);
  TestCluster cluster;
  ClusterSettings settings;
  cluster.declare(settings);
  EXPECT_TRUE(declared_warnings(cluster.state, policies, settings).empty());
  settings.multifactor.age = 0;
  cluster.declare(settings);
  const auto warned = declared_warnings(cluster.state, policies, settings);
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_TRUE(warned[0].starts_with("multifactor has no effect")) << warned[0];
  Queue queue = queue_of("team");
  queue.order = "sum";
  cluster.declare(queue);
  EXPECT_TRUE(declared_warnings(cluster.state, policies, settings).empty());
}

class NewName final : public ScorePolicy {
 public:
  std::string_view name() const override { return "new_name/2"; }
  std::string_view former_name() const override { return "old_name"; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry>,
                                        std::span<const NodeClass>) const override {
    return nullptr;
  }
};

TEST(DeclaredWarnings, APlacementByItsFormerNameIsFoundAndTold) {
  static const NewName score;
  Policies policies = plain_policies();
  policies.scores.push_back(&score);
  TestCluster cluster;
  ClusterSettings settings;
  settings.placement = "new_name";
  cluster.declare(settings);
  EXPECT_TRUE(declared_warnings(cluster.state, policies, settings).empty());
  settings.placement = "old_name";
  cluster.declare(settings);
  EXPECT_EQ(find_score(policies, "old_name"), &score);
  EXPECT_EQ(find_score(policies, ""), nullptr);
  const auto warned = declared_warnings(cluster.state, policies, settings);
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_EQ(warned[0],
            "placement old_name is called new_name now; the old name goes with the next release");
}

TEST(DeclaredWarnings, WeightsOfResourcesWhereNobodyIsServedByResource) {
  TestCluster cluster;
  Queue queue = queue_of("team");
  queue.weights.gpus = 6;
  cluster.declare(queue);
  const auto warned = declared_warnings(cluster.state, plain_policies(), queue);
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_TRUE(warned[0].starts_with("weights has an effect on preemption only")) << warned[0];
}

}  // namespace
}  // namespace dove::core
