#include "views/cluster_totals.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::views {
namespace {

class ClusterTotalsTest : public testing::Test {
 protected:
  const ClusterTotals::Amounts& totals() {
    return totals_.of(cluster_.state, [this] { return now_us_ += cost_us_; });
  }
  void drain() {
    cluster_.state.nodes.begin()->declared.drained = true;
    cluster_.state.head = Seq(cluster_.state.head.value + 1);
  }

  core::TestCluster cluster_{3, {.gpus = 4}};
  ClusterTotals totals_;
  std::int64_t now_us_ = 1'000'000;
  std::int64_t cost_us_ = 0;
};

TEST_F(ClusterTotalsTest, AddsUpWhatNodesHave) {
  EXPECT_EQ(totals().total, 3);
  EXPECT_EQ(totals().gpus, 12);
  EXPECT_EQ(totals().gpus_free_milli, 12'000);
  EXPECT_EQ(totals().drained, 0);
  drain();
  EXPECT_EQ(totals().drained, 1) << "what costs nothing is always of now";
}

TEST_F(ClusterTotalsTest, WhatCostsMuchIsGivenAgainForAWhile) {
  cost_us_ = 10'000;
  EXPECT_EQ(totals().drained, 0);
  cost_us_ = 0;
  drain();
  EXPECT_EQ(totals().drained, 0);
  now_us_ += 199'999;
  EXPECT_EQ(totals().drained, 0);
  now_us_ += 1;
  EXPECT_EQ(totals().drained, 1);
}

TEST_F(ClusterTotalsTest, NeverForLongerThanASecond) {
  cost_us_ = 1'000'000;
  totals();
  cost_us_ = 0;
  drain();
  now_us_ += 1'000'000;
  EXPECT_EQ(totals().drained, 1);
}

}  // namespace
}  // namespace dove::views
