#include "policies/orders.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/state/service.h"

namespace dove::policies {
namespace {

using core::JobView;
using core::OrderView;

const core::JobOrder& order(std::string_view name) {
  const core::JobOrder* found = find_job_order(name);
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

OrderView at(std::int64_t now_s, const core::ServiceHistory& history = {}) {
  return {Instant{seconds(now_s).us}, core::outlook(history)};
}

bool before(std::string_view name, const JobView& a, const JobView& b, const OrderView& view) {
  return order(name).key(a, view) < order(name).key(b, view);
}

TEST(Orders, NamesAreFoundAndUnknownOnesAreNot) {
  for (const NamedOrder& it : job_orders()) EXPECT_EQ(find_job_order(it.name), it.order);
  EXPECT_EQ(find_job_order("fifo "), nullptr);
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
  const core::JobOrder& tiresias = order("tiresias-l");
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
  EXPECT_EQ(tiresias.settled(it), core::JobOrder::kForever);
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
  const core::JobOrder& promoting = order("tiresias-l-promoting");
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

// Whatever else comes, a job that waits long enough is first: nothing starves.
TEST(Orders, DefaultStarvesNobody) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    core::ServiceHistory history;
    for (int i = 0; i < 20; ++i) {
      const auto service_ms = static_cast<std::int64_t>(random.below(100'000'000));
      history.spent(0, service_ms);
      history.finished(service_ms, milliseconds(service_ms));
    }
    JobView old = job(1, 1 + static_cast<std::int64_t>(random.below(1000)), 0);
    old.level = static_cast<std::int32_t>(random.below(6));  // up to 7 GPU-days
    old.waited = seconds(3'000'000'000'000);
    const JobView fresh = job(2, 1, 1000);
    EXPECT_TRUE(before("default", old, fresh, at(2000, history)));
  }
}

TEST(Orders, DefaultDoesNotLookAtHowLongAJobWillTake) {
  JobView it = job(1, 8, 0);
  it.attained = seconds(1000);
  const core::OrderKey without = order("default").key(it, at(2000));
  it.remaining = seconds(5);
  EXPECT_EQ(order("default").key(it, at(2000)), without);
}

TEST(Orders, DefaultGoesByTheLikelyRunWhereJobsAreNotInterrupted) {
  JobView brief = job(2, 1, 0);
  brief.likely_run = seconds(100);
  JobView lengthy = job(1, 1, 0);
  lengthy.likely_run = seconds(1000);
  EXPECT_TRUE(before("default", brief, lengthy, at(1)));
  brief.account.share_ppm = 500'000;  // its account has half of the cluster already
  EXPECT_TRUE(before("default", lengthy, brief, at(1)));
}

TEST(Orders, DefaultPrefersNarrowAndLittleServed) {
  const JobView narrow = job(2, 1, 0);
  const JobView wide = job(1, 8, 0);
  EXPECT_TRUE(before("default", narrow, wide, at(1)));
  JobView served = job(1, 1, 0);
  served.attained = seconds(100'000);
  served.level = order("default").level(served);
  EXPECT_GT(served.level, 0);
  EXPECT_TRUE(before("default", narrow, served, at(1)));
}

TEST(Orders, DefaultChangesLevelWhenItSaid) {
  JobView it = job(1, 3, 0);
  it.running = true;
  for (std::int32_t level = 0; level < 5; ++level) {
    EXPECT_EQ(order("default").level(it), level);
    it.level = level;
    it.attained.us += order("default").settled(it).us;
  }
}

}  // namespace
}  // namespace dove::policies
