#include "core/plan/promise.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class PromiseTest : public testing::Test {
 protected:
  JobId promised(const Ask& ask, std::int64_t in_s, bool cleared = false) {
    const JobId id = cluster.submit(ask);
    const Placement places = first_free(cluster.node(1), *cluster.job(id).spec);
    cluster.decided(Promise{id, cluster.state.now + seconds(in_s), {places}, cleared});
    return id;
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 2}};
};

TEST_F(PromiseTest, BindsWhatComesAfterItsJobAlone) {
  const JobId low = promised({}, 100);
  const JobId equal = cluster.submit();
  const JobId high = cluster.submit({.priority = 5});
  EXPECT_TRUE(promises_behind(cluster.state, cluster.job(equal)).empty());
  EXPECT_EQ(promises_behind(cluster.state, cluster.job(high)), std::set<JobId>{low});
}

TEST_F(PromiseTest, OneForWhichOthersWereStoppedBindsEverybody) {
  promised({}, 100, /*cleared=*/true);
  const JobId high = cluster.submit({.priority = 5});
  EXPECT_TRUE(promises_behind(cluster.state, cluster.job(high)).empty());
}

TEST_F(PromiseTest, TheNextOneFallsDueAtItsInstant) {
  EXPECT_EQ(next_promise(cluster.state), kNever);
  promised({}, 100);
  promised({}, 50);
  EXPECT_EQ(next_promise(cluster.state), cluster.state.now + seconds(50));
}

TEST_F(PromiseTest, TwoShareIdsWhenTheyNameOneCoreOrTooMuchOfADevice) {
  Placement one = first_free(cluster.node(1), spec_of({.cores = 1, .gpus = 1}));
  Placement other = one;
  EXPECT_TRUE(share_ids(one, other));
  other.cores = CoreSet{7};
  EXPECT_TRUE(share_ids(one, other));
  one.devices[0].share_milli = 400;
  other.devices[0].share_milli = 600;
  EXPECT_FALSE(share_ids(one, other));
}

TEST_F(PromiseTest, WhatStartsInItsPlaceAndStaysBreaksIt) {
  promised({.cores = 8}, 100);
  cluster.pass(seconds(1));
  const JobId brief = cluster.submit_and_start({.cores = 1, .limit_s = 1});
  EXPECT_NE(find_broken_promise(cluster.state), std::nullopt);  // two orders take two minutes
  cluster.end(brief);
  EXPECT_EQ(find_broken_promise(cluster.state), std::nullopt);
}

TEST_F(PromiseTest, TheHeadOfAQueueComesBeforeHigherPriorities) {
  const JobId head = cluster.submit();
  const JobId high = cluster.submit({.priority = 5});
  cluster.state.find_job(head)->at_head = true;
  EXPECT_TRUE(comes_before(cluster.state, cluster.job(head), cluster.job(high)));
  EXPECT_FALSE(comes_before(cluster.state, cluster.job(high), cluster.job(head)));
}

}  // namespace
}  // namespace dove::core
