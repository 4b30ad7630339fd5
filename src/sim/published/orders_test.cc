#include "sim/published/orders.h"

#include <gtest/gtest.h>

#include <set>

#include "policies/standard.h"
#include "sim/published/placements.h"

namespace dove::sim {
namespace {

const JobOrder& order(std::string_view name) {
  const JobOrder* found = find_job_order(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

JobView job(std::int64_t sequence, std::int64_t gpus, std::int64_t submitted_s) {
  JobView view;
  view.sequence = sequence;
  view.size_milli = gpus * 1000;
  view.submitted_at.us = seconds(submitted_s).us;
  return view;
}

OrderView at(std::int64_t now_s) { return {Instant{seconds(now_s).us}}; }

bool before(std::string_view name, const JobView& a, const JobView& b, const OrderView& view) {
  return order(name).key(a, view) < order(name).key(b, view);
}

TEST(Orders, NamesAreFoundAndUnknownOnesAreNot) {
  for (const NamedOrder& it : job_orders()) EXPECT_EQ(find_job_order(it.name), it.order);
  EXPECT_EQ(find_job_order("fifo "), nullptr);
}

// What a log or a report names is one policy.
TEST(Orders, NoTwoPoliciesShareAName) {
  std::set<std::string_view> names;
  for (const NamedOrder& it : job_orders()) EXPECT_TRUE(names.insert(it.order->name()).second);
  for (const PublishedPlacement& it : published_placements()) names.insert(it.policy->name());
  EXPECT_EQ(names.size(), job_orders().size() + published_placements().size());
  const core::Policies& live = policies::standard_policies();
  EXPECT_TRUE(names.insert(live.placement->name()).second);
  for (const core::OrderPolicy* it : live.orders) {
    EXPECT_TRUE(names.insert(it->name()).second) << it->name();
  }
}

TEST(Orders, FifoAndLifoGoByArrival) {
  const JobView old = job(1, 1, 10);
  const JobView young = job(2, 1, 20);
  EXPECT_TRUE(before("fifo", old, young, at(30)));
  EXPECT_TRUE(before("lifo", young, old, at(30)));
}

TEST(Orders, DrfPutsTheAccountWithLeastInUseFirst) {
  JobView old = job(1, 1, 10);
  old.account.share_ppm = 500'000;
  JobView young = job(2, 1, 20);
  young.account.share_ppm = 250'000;
  EXPECT_TRUE(before("drf", young, old, at(30)));
}

TEST(Orders, ShortestByTimeAndByService) {
  JobView wide = job(1, 8, 0);
  wide.remaining = seconds(100);
  JobView narrow = job(2, 1, 0);
  narrow.remaining = seconds(200);
  const JobView unknown = job(0, 1, 0);
  EXPECT_TRUE(before("srtf", wide, narrow, at(1)));
  EXPECT_TRUE(before("srsf", narrow, wide, at(1)));
  EXPECT_TRUE(before("srtf", narrow, unknown, at(1)));
  EXPECT_TRUE(before("srsf", wide, unknown, at(1)));
}

TEST(Orders, TiresiasDemotesByServiceOneLevelAtATime) {
  const JobOrder& tiresias = order("tiresias-l");
  JobView it = job(1, 4, 0);
  it.running = true;
  EXPECT_EQ(tiresias.settled(it), seconds(813));  // ceil(3250 / 4)
  it.attained = seconds(812);
  EXPECT_EQ(tiresias.level(it), 0);
  it.attained = seconds(10'000);
  EXPECT_EQ(tiresias.level(it), 1);
  it.level = 1;
  EXPECT_EQ(tiresias.level(it), 2);
  it.level = 2;
  EXPECT_EQ(tiresias.level(it), 2);
  EXPECT_EQ(tiresias.settled(it), JobOrder::kForever);
}

TEST(Orders, TiresiasKeepsRunningJobsBeforeWaitingAndNewOnes) {
  JobView running = job(3, 1, 0);
  running.running = true;
  const JobView waiting = job(1, 1, 0);
  JobView joined = job(0, 1, 0);
  joined.level_since.us = seconds(50).us;
  EXPECT_TRUE(before("tiresias-l", running, waiting, at(50)));
  EXPECT_TRUE(before("tiresias-l", waiting, joined, at(50)));
}

TEST(Orders, PromotingTiresiasTakesAStarvedJobBack) {
  const JobOrder& promoting = order("tiresias-l-promoting");
  JobView it = job(1, 1, 0);
  it.attained = seconds(4000);
  it.level = 1;
  EXPECT_EQ(promoting.level(it), 1);
  const Span settled = promoting.settled(it);
  it.paused = Span{settled.us - 1};
  EXPECT_EQ(promoting.level(it), 1);
  it.paused = settled;
  EXPECT_EQ(promoting.level(it), 0);
}

}  // namespace
}  // namespace dove::sim
